// SPDX-License-Identifier: GPL-2.0
/* Messages and collectives do not wait for each other. */
#include "harness.h"
#include "shapes.h"
#include "talk.h"

static struct talk t;

/*
 * A collective that waits stops no message, and no message stops it, in whatever order the ranks
 * come to the two.
 */
TEST(collectives_and_messages_pass_each_other)
{
	int32_t sum[TALK_RANKS], one = 1, v = 42, o = 0;
	unsigned int a[TALK_RANKS], s, r;
	struct coll_cmd cmd;
	uint32_t i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_allreduce(&cmd, &one, &sum[0], 1, COLL_I32, COLL_OP_SUM);
		a[0] = talk_post(&t, 0, &cmd);
		o = 0;
		r = talk_recv(&t, last, 0, 0, &o, 4, NULL);
		for (i = 1; i <= last; i++) {
			raw_allreduce(&cmd, &one, &sum[i], 1, COLL_I32, COLL_OP_SUM);
			if (i < last)
				a[i] = talk_post(&t, i, &cmd);
		}
		EXPECT_TRUE(talk_pending(&t, 0, a[0]));
		s = talk_send(&t, 0, last, 0, &v, 4);
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(42, o);
		EXPECT_TRUE(talk_pending(&t, 0, a[0]));
		s = talk_send(&t, 0, last, 1, &v, 4);
		a[last] = talk_post(&t, last, &cmd);
		for (i = 0; i <= last; i++) {
			EXPECT_EQ(0, talk_result(&t, i, a[i]));
			EXPECT_EQ(last + 1, sum[i]);
		}
		EXPECT_TRUE(talk_pending(&t, 0, s));
		o = 0;
		r = talk_recv(&t, last, 0, 1, &o, 4, NULL);
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(42, o);
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
