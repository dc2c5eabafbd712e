// SPDX-License-Identifier: GPL-2.0
/*
 * Frames go to the backlog if they stand before those of another communicator. The backlog is
 * kernel memory, which is charged to the control group of the communicator.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "other.h"
#include "peer.h"

#define OTHERS	16
#define FRAMES	12
#define FRAME	(256U << 10)

static struct peer first, others[OTHERS];

/* Waits for bytes that come behind frames of the other communicators. */
static void *wait_for_data(void *arg)
{
	static char buf[8 << 20];
	struct coll_cmd cmd;

	raw_broadcast(&cmd, buf, sizeof(buf), COLL_BYTE, 1);
	raw_submit(first.c.fd[0], &cmd);
	return arg;
}

static bool send_frames(struct peer *p)
{
	static uint8_t payload[FRAME];
	uint8_t head[COLL_WIRE_HDR];
	struct coll_frame f;
	int i;

	for (i = 0; i < FRAMES; i++) {
		peer_frame(p, &f, COLL_FRAME_DATA, FRAME);
		f.seq = 1;
		f.signature = 7;
		coll_wire_put_header(head, &f);
		if (!peer_write(p, 1, head, sizeof(head)) ||
		    !peer_write(p, 1, payload, FRAME))
			return false;
	}
	return true;
}

TEST(charged_to_the_communicator)
{
	int64_t before, grown = 0, sent = (int64_t)OTHERS * FRAMES * FRAME;
	pthread_t waiter;
	int i, ret;

	ret = other_enter_cgroup("coll_early", "memory.max", "max");
	if (ret)
		SKIP(return, "there is no memory controller");
	ASSERT_EQ(0, peer_start(&first, true));
	for (i = 0; i < OTHERS; i++) {
		ASSERT_EQ(0, peer_second(&others[i], &first));
		ASSERT_EQ(0, raw_share(others[i].c.fd[0], 1, first.c.fd[0], 1));
		ASSERT_TRUE(peer_second_establish(&others[i], &first));
	}
	ASSERT_EQ(0, pthread_create(&waiter, NULL, wait_for_data, NULL));
	test_sleep_us(200000);
	before = other_cgroup_number("coll_early", "memory.current");
	for (i = 0; i < OTHERS; i++)
		ASSERT_TRUE(send_frames(&others[i]));
	for (i = 0; i < 100 && grown < sent * 9 / 10; i++) {
		test_sleep_us(100000);
		grown = other_cgroup_number("coll_early", "memory.current") - before;
	}
	TH_LOG("%lld KiB went to the backlog, %lld KiB were charged", (long long)sent >> 10,
	       (long long)grown >> 10);
	EXPECT_GE(grown, sent * 9 / 10);
	for (i = 0; i < OTHERS; i++)
		peer_leave(&others[i]);
	raw_abort(first.c.fd[0], 1);
	pthread_join(waiter, NULL);
	peer_stop(&first);
}

TEST_HARNESS_MAIN
