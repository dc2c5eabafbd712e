// SPDX-License-Identifier: GPL-2.0
/*
 * Groups whose peer does not close in its turn linger for dead_after seconds. They count
 * for the limit of their user until they are freed, and nobody's end waits for them.
 */
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

#define GROUPS		100

/* A group whose peer has sent DATA of an op that nobody has posted; its file is closed. */
static int leave_one(void)
{
	uint8_t b[COLL_WIRE_HDR + 64] = { };
	struct coll_frame f;
	struct peer p;
	int ret = peer_start(&p, true);

	if (ret)
		return ret;
	peer_frame(&p, &f, COLL_FRAME_DATA, 64);
	f.seq = 1;
	f.signature = 5;
	coll_wire_put_header(b, &f);
	if (!peer_write(&p, 1, b, sizeof(b)))
		ret = -EPIPE;
	/* The sockets of the peer stay open, until the process ends. */
	close(p.c.fd[0]);
	return ret;
}

/* Nanoseconds from close() of a rank to the end of its data stream; 0: 20 s were not enough. */
static uint64_t time_close(void)
{
	struct pollfd poll_fd = { .events = POLLIN };
	uint64_t begin;
	struct peer p;
	char b[4096];

	if (peer_start(&p, true))
		return 0;
	poll_fd.fd = p.sock[1];
	test_sleep_us(100000);
	begin = test_now_ns();
	close(p.c.fd[0]);
	do {
		if (poll(&poll_fd, 1, 20000) != 1)
			return 0;
	} while (recv(p.sock[1], b, sizeof(b), 0) > 0);
	begin = test_now_ns() - begin;
	close(p.sock[0]);
	close(p.sock[1]);
	return begin;
}

TEST(groups_that_linger)
{
	struct rlimit files = { 4096, 4096 };
	char limit[16] = "", dead[16] = "";
	unsigned int i;
	uint64_t took, now;
	int ret = 0;

	ASSERT_TRUE(test_get(TEST_MAX_GROUPS, limit, sizeof(limit)));
	ASSERT_TRUE(test_get(TEST_DEAD_AFTER, dead, sizeof(dead)));
	setrlimit(RLIMIT_NOFILE, &files);
	ASSERT_TRUE(test_put(TEST_MAX_GROUPS, "100"));
	/* None of them is freed before the limit is reached. */
	EXPECT_TRUE(test_put(TEST_DEAD_AFTER, "600"));
	for (i = 0; i < 2 * GROUPS && !ret; i++)
		ret = leave_one();
	test_put(TEST_MAX_GROUPS, limit);
	test_put(TEST_DEAD_AFTER, dead);
	TH_LOG("%u groups of %u were allowed, then %d", i - !!ret, 2 * GROUPS, ret);
	EXPECT_EQ(-EMFILE, ret);
	EXPECT_LE(i - 1, GROUPS);
	took = time_close();
	TH_LOG("meanwhile an end is told %llu us after close()", (unsigned long long)took / 1000);
	EXPECT_NE(0, took);
	now = test_now_ns();
	EXPECT_FALSE(test_late(now - took, now));
}

TEST_HARNESS_MAIN
