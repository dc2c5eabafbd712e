// SPDX-License-Identifier: GPL-2.0
/* The wall clock is set an hour back or forth: deadlines and peers do not depend on it. */
#include <pthread.h>
#include <time.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define HOUR	3600

struct waiting {
	int fd, result;
	uint64_t took;
};

static void *submit(void *arg)
{
	uint64_t start = test_now_ns();
	struct waiting *w = arg;
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	cmd.timeout_ns = SECOND / 2;
	w->result = raw_submit(w->fd, &cmd);
	w->took = test_now_ns() - start;
	return NULL;
}

static int jump(time_t seconds)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += seconds;
	return clock_settime(CLOCK_REALTIME, &ts) ? -errno : 0;
}

static void jump_in_op(struct __test_metadata *_metadata, uint32_t nodes, time_t seconds)
{
	struct waiting w;
	struct raw_comm c;
	pthread_t thread;

	ASSERT_EQ(0, raw_start(&c, 2, nodes));
	ASSERT_EQ(0, test_good(&c));
	/* the clock jumps between two ops: no rank is taken for dead */
	ASSERT_EQ(0, jump(seconds));
	EXPECT_EQ(0, test_good(&c));
	/* the clock jumps in an op: the deadline of the op is as long as before */
	w.fd = c.fd[0];
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit, &w));
	test_sleep_us(100000);
	ASSERT_EQ(0, jump(-seconds));
	pthread_join(thread, NULL);
	EXPECT_EQ(-ETIMEDOUT, w.result);
	/* Jiffies may be a few behind, where ticks are emulated. */
	EXPECT_GE(w.took + SECOND / 50, SECOND / 2);
	EXPECT_LE(w.took, SECOND / 2 + test_bound_ms() * 1000000ULL * 50);
	raw_stop(&c);
}

TEST(forward)
{
	jump_in_op(_metadata, 1, HOUR);
	jump_in_op(_metadata, 2, HOUR);
}

TEST(back)
{
	jump_in_op(_metadata, 1, -HOUR);
	jump_in_op(_metadata, 2, -HOUR);
}

TEST_HARNESS_MAIN
