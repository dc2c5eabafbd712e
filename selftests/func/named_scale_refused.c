// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that post different factors get an error that names them. Wrong factors, and
 * commands that cannot have factors, are refused.
 */
#include <errno.h>

#include "named_scale.h"

TEST(ranks_that_disagree)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		w->round = 1;
		for (k = 0; k < 2; k++) {
			for (r = 0; r < 2; r++) {
				make(w, r, 0, k ? 0.5 : 0.25 * r, k ? 3 + r : 0);
				ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][0], 1, NULL));
			}
			for (r = 0; r < 2; r++) {
				ASSERT_EQ(1, raw_collect(w->c.fd[r], &res, 1, 1, 20 * SECOND));
				EXPECT_EQ(-EBADE, res.result);
				EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
				EXPECT_EQ(k ? COLL_FIELD_POSTSCALE : COLL_FIELD_PRESCALE,
					  res.field);
				EXPECT_EQ(1, res.rank[0] + res.rank[1]);
				EXPECT_EQ(k ? bits(3 + res.rank[0]) : bits(0.25 * res.rank[0]),
					  res.value[0]);
				EXPECT_EQ(k ? bits(3 + res.rank[1]) : bits(0.25 * res.rank[1]),
					  res.value[1]);
			}
		}
		/* The factor 1 is the same as no factor. */
		for (r = 0; r < 2; r++) {
			make(w, r, 0, r, r);
			ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][0], 1, NULL));
		}
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(1, raw_collect(w->c.fd[r], &res, 1, 1, 20 * SECOND));
			EXPECT_EQ(0, res.result);
		}
		raw_stop(&w->c);
	}
}

TEST(refused)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY, -0.0, 1e39, 1e-46, 1e-310 };
	static const uint16_t no_ops[] = { COLL_OP_PROD, COLL_OP_MIN, COLL_OP_SUM_EXACT };
	struct world *w = &world;
	struct coll_cmd *cmd = &w->cmd[0][1];
	size_t k;

	ASSERT_EQ(0, raw_start_named(&w->c, 1, 1));
	w->round = 0;
	for (k = 0; k < NR(bad); k++) {
		make(w, 0, 1, bad[k], 0);
		EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &w->t[0][1], 1, NULL));
		make(w, 0, 1, 0, bad[k]);
		EXPECT_EQ(-EINVAL, raw_post(w->c.fd[0], &w->t[0][1], 1, NULL));
	}
	for (k = 0; k < NR(no_ops); k++) {
		make(w, 0, 1, 2, 0);
		cmd->op = no_ops[k];
		EXPECT_EQ(-EOPNOTSUPP, raw_post(w->c.fd[0], &w->t[0][1], 1, NULL));
	}
	make(w, 0, 1, 0, 2);
	cmd->dtype = COLL_I32;
	EXPECT_EQ(-EOPNOTSUPP, raw_post(w->c.fd[0], &w->t[0][1], 1, NULL));
	make(w, 0, 1, 2, 0);
	cmd->flags |= COLL_CMD_NARROW;
	EXPECT_EQ(-EOPNOTSUPP, raw_post(w->c.fd[0], &w->t[0][1], 1, NULL));
	make(w, 0, 1, 2, 0);
	cmd->collective = COLL_REDUCE_SCATTER_BLOCK;
	EXPECT_EQ(-EOPNOTSUPP, raw_post(w->c.fd[0], &w->t[0][1], 1, NULL));
	/* The refused calls have left nothing behind. */
	step(_metadata, w, 1);
	raw_stop(&w->c);
}

TEST_HARNESS_MAIN
