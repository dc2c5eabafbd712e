// SPDX-License-Identifier: GPL-2.0
/*
 * The user sets SO_LINGER on sockets that he hands over, and his peer stops reading. The last put
 * of such a socket, by a worker, must not wait: it would hold up all files that the kernel puts.
 */
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define COUNT	100000		/* 400 kB: more than the peer takes, less than the socket holds */

static void linger(const int sv[2], int stripe)
{
	struct linger l = { .l_onoff = 1, .l_linger = 30 };
	int small = 4096, large = 4 << 20;

	setsockopt(sv[0], SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof(large));
	setsockopt(sv[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
}

/* A rank that has sent a vector, and has gone; its peer does not read. Return: 0 or -errno. */
static int leave_one(struct peer *p)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op o;
	int ret = peer_start_with(p, linger);

	if (ret)
		return ret;
	peer_op_init(&o, p, PEER_BCAST_OUT, COUNT, 10 * SECOND);
	peer_op_start(&o, p);
	peer_write(p, 1, buf, peer_put_op(p, &o.cmd, p->seq, 4096, buf));
	ret = peer_op_wait(&o);
	peer_op_exit(&o);
	close(p->c.fd[0]);
	p->c.fd[0] = -1;
	return ret;
}

/* Nanoseconds from close() of a rank to the end of its data stream; 0: 40 s were not enough. */
static uint64_t time_close(void)
{
	struct pollfd poll_fd = { .events = POLLIN };
	uint64_t begin;
	struct peer p;
	char b[4096];

	if (peer_start(&p, true))
		return 0;
	poll_fd.fd = p.sock[1];
	begin = test_now_ns();
	close(p.c.fd[0]);
	p.c.fd[0] = -1;
	do {
		if (poll(&poll_fd, 1, 40000) != 1)
			return 0;
	} while (recv(p.sock[1], b, sizeof(b), 0) > 0);
	begin = test_now_ns() - begin;
	peer_stop(&p);
	return begin;
}

TEST(nobody_waits)
{
	struct peer p;
	uint64_t took, now;

	ASSERT_EQ(0, leave_one(&p));
	test_sleep_us(200000);
	took = time_close();
	TH_LOG("another end is seen %llu us after close()", (unsigned long long)took / 1000);
	EXPECT_NE(0, took);
	now = test_now_ns();
	EXPECT_FALSE(test_late(now - took, now));
	peer_stop(&p);
}

TEST_HARNESS_MAIN
