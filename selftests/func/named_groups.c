// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of named collectives, which each rank posts in an order of its own. A group starts when
 * all ranks have posted all of its members.
 */
#include <errno.h>

#include "named_groups.h"

/* Give rank @r a random order of its tensors. */
static void shuffle(struct world *w, uint32_t r)
{
	struct coll_tensor t;
	uint32_t k, o;

	for (k = NAMES; k > 1; k--) {
		o = test_below(&w->lots, k);
		t = w->t[r][k - 1];
		w->t[r][k - 1] = w->t[r][o];
		w->t[r][o] = t;
	}
}

TEST(any_order)
{
	uint32_t nodes, round, r, k;
	struct world *w;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_GROUPS);
	for (nodes = 1; nodes <= 3; nodes++) {
		w = start(RANKS, nodes);
		ASSERT_NE(NULL, w);
		for (round = 0; round < 6; round++) {
			memset(w->out, 0xee, sizeof(w->out));
			for (r = 0; r < RANKS; r++) {
				shuffle(w, r);
				ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], NAMES, NULL));
			}
			for (r = 0; r < RANKS; r++) {
				EXPECT_EQ((1U << NAMES) - 1,
					  results(_metadata, w, r, NAMES, 0, COLL_BAD_NONE));
				for (k = 0; k < NAMES; k++)
					EXPECT_EQ(RANKS * (RANKS - 1) / 2 + RANKS * k,
						  w->out[r][k][COUNT - 1]);
			}
		}
		raw_stop(&w->c);
	}
}

/* A group does not start before its last member has been posted. Another group does not wait. */
TEST(none_before_all)
{
	uint32_t nodes, r;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS - 1, NULL));
		ASSERT_EQ(0, raw_post(w->c.fd[0], &w->t[0][MEMBERS - 1], 1, NULL));
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][MEMBERS], MEMBERS, NULL));
		for (r = 0; r < 2; r++) {
			EXPECT_EQ(0x1fU << MEMBERS,
				  results(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
			EXPECT_EQ(-ETIMEDOUT, raw_collect(w->c.fd[r], w->res, 1, 1, 30 * MS));
		}
		ASSERT_EQ(0, raw_post(w->c.fd[1], &w->t[1][MEMBERS - 1], 1, NULL));
		for (r = 0; r < 2; r++)
			EXPECT_EQ(0x1fU, results(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
