// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks have joined while others post named allreduces with factors. The results
 * are those of the ranks that post.
 */
#include "named_scale.h"

TEST(with_joined_ranks)
{
	struct world *w = &world;
	uint32_t nodes, joined, n, r;

	for (nodes = 1; nodes <= 3; nodes += 2) {
		ASSERT_EQ(0, raw_start_named(&w->c, 3, nodes));
		for (joined = 0; joined < 3; joined++) {
			ASSERT_EQ(0, raw_post(w->c.fd[joined], &a_join, 1, NULL));
			for (n = 0; n < NR(factors); n++)
				step(_metadata, w, 7 & ~(1U << joined));
			for (r = 0; r < 3; r++)
				if (r != joined)
					ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
			for (r = 0; r < 3; r++)
				ASSERT_EQ(1, raw_collect(w->c.fd[r],
							 &(struct coll_tensor_result){ }, 1, 1,
							 20 * SECOND));
		}
		raw_stop(&w->c);
	}
}

/*
 * A node whose ranks have joined contributes -0, the identity of a sum. If it were multiplied by
 * the negative factor, the result would be +0.
 */
TEST(joined_ranks_keep_the_sign_of_zero)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t r;

	ASSERT_EQ(0, raw_start_named(&w->c, 3, 3));
	ASSERT_EQ(0, raw_post(w->c.fd[1], &a_join, 1, NULL));
	w->round = 0;
	for (r = 0; r < 3; r += 2) {
		make(w, r, 1, -2, 0);
		memset(w->in[r][1], 0, sizeof(w->in[r][1]));
		memset(w->out[r][1], 0, sizeof(w->out[r][1]));
		ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][1], 1, NULL));
	}
	for (r = 0; r < 3; r += 2) {
		ASSERT_EQ(1, raw_collect(w->c.fd[r], &res, 1, 1, 20 * SECOND));
		EXPECT_EQ(0, res.result);
		EXPECT_EQ(0, get(w->out[r][1], F32, 0));
		EXPECT_TRUE(signbit(get(w->out[r][1], F32, 0)));
	}
	raw_stop(&w->c);
}

TEST_HARNESS_MAIN
