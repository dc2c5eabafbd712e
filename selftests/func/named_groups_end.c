// SPDX-License-Identifier: GPL-2.0
/*
 * A member of a group fails on one rank: it does not match, it reaches its deadline, or the groups
 * are different. All members of the group end with this error.
 */
#include <errno.h>

#include "named_groups.h"

/* One member does not match, or reaches its deadline. Its group ends, and no other tensor. */
TEST(ends_as_a_whole)
{
	uint32_t nodes, late, r;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (late = 0; late < 2; late++) {
			w = start(2, nodes);
			ASSERT_NE(NULL, w);
			w->cmd[0][2].timeout_ns = late ? 30 * MS : 0;
			if (!late)
				w->cmd[1][2].op = COLL_OP_MAX;
			for (r = 0; r < 2; r++)
				ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r],
						      MEMBERS - (late && r), NULL));
			EXPECT_EQ(0x1fU, results(_metadata, w, 0, MEMBERS, late ? ETIMEDOUT : EBADE,
						 late ? COLL_BAD_TIMEOUT : COLL_BAD_MISMATCH));
			results(_metadata, w, 1, MEMBERS - late, late ? ETIMEDOUT : EBADE,
				late ? COLL_BAD_TIMEOUT : COLL_BAD_MISMATCH);
			EXPECT_TRUE(not_failed(w));
			for (r = 0; r < 2; r++)
				ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][MEMBERS], MEMBERS,
						      NULL));
			for (r = 0; r < 2; r++)
				results(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE);
			raw_stop(&w->c);
		}
	}
}

/* The digests of the group are different on two ranks. */
TEST(digests_differ)
{
	uint32_t nodes, r, k;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		for (k = 0; k < MEMBERS; k++)
			w->t[1][k].group = DIGEST + 9;
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
		for (r = 0; r < 2; r++) {
			results(_metadata, w, r, MEMBERS, EBADE, COLL_BAD_MISMATCH);
			EXPECT_EQ(COLL_FIELD_GROUP, w->res[0].field);
		}
		EXPECT_TRUE(not_failed(w));
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
