// SPDX-License-Identifier: GPL-2.0
/* Messages with a deadline: the partner does not answer, or answers in time. */
#include <errno.h>
#include <stdint.h>

#include "harness.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

#define MS	1000000ULL

static struct talk t;
static int32_t mem[64], other[64];

/* Nobody answers: the cause says who did not. */
TEST(deadline)
{
	struct coll_message got;
	struct coll_status s;
	struct coll_cmd cmd;
	unsigned int i;
	uint64_t start;

	for (unsigned int sh = 0; sh < NR_SHAPES; sh++) {
		uint32_t last = shapes[sh].size - 1;

		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
			raw_send(&cmd, mem, 4, COLL_I32, last, 1);
			if (i == 1)
				raw_recv(&cmd, mem, 4, COLL_I32, last, 1, &got);
			if (i == 2)
				raw_recv(&cmd, mem, 4, COLL_I32, COLL_RANK_ANY, 1, &got);
			if (i == 3)
				raw_and_recv(&cmd, other, 4, last, 1, &got);
			cmd.timeout_ns = 100 * MS;
			start = test_now_ns();
			EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
			/* Jiffies may be a few behind, where ticks are emulated. */
			EXPECT_GE(test_now_ns() - start, 90 * MS);
			EXPECT_FALSE(test_late(start + 100 * MS, test_now_ns()));
			ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
			EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
			EXPECT_EQ(ETIMEDOUT, s.cause.error);
			EXPECT_EQ(i == 2 ? COLL_RANK_NONE : last, s.cause.rank);
			EXPECT_EQ(i == 2 ? COLL_RANK_NONE : t.c.node_of[last],
				  s.cause.node);
			cmd.timeout_ns = 0;
			EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
			talk_stop(&t);
		}
	}
}

/* A message that is to come within @ms. Return: the result of the receive. */
static int in_time(struct __test_metadata *_metadata, unsigned int ms)
{
	struct coll_cmd cmd;
	unsigned int r;

	ASSERT_EQ(0, talk_start(&t, 2, 1));
	raw_recv(&cmd, mem, 4, COLL_I32, 1, 1, NULL);
	cmd.timeout_ns = ms * MS;
	r = talk_post(&t, 0, &cmd);
	talk_send(&t, 1, 0, 1, other, 16);
	return talk_result(&t, 0, r);
}

/* In time: the deadline of something that is over does nothing. A slow machine has more time. */
TEST(deadline_of_what_is_over)
{
	unsigned int ms = 50;
	int ret;

	while ((ret = in_time(_metadata, ms)) == -ETIMEDOUT && ms < 3200) {
		talk_stop(&t);
		ms *= 4;
	}
	EXPECT_EQ(0, ret);
	test_sleep_us(2000 * ms);
	EXPECT_EQ(0, test_good(&t.c));
	talk_stop(&t);
}

TEST_HARNESS_MAIN
