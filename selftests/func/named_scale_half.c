// SPDX-License-Identifier: GPL-2.0
/*
 * Named allreduces of f16 with factors are computed in f32: scaled inputs and sums that do not fit
 * f16 are not lost.
 */
#include "named_scale.h"

/* A scaled input that is too small for f16, and a sum that is too large: f32 holds both. */
TEST(halves_are_scaled_in_singles)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		for (k = 0; k < 2; k++) {
			for (r = 0; r < 2; r++) {
				w->round = 1;
				make(w, r, 0, k ? 0 : ldexp(1, -60), k ? ldexp(1, -4) :
				     ldexp(1, 60));
				/* Too large for f16: the sum, 2^16. Too small: the scaled input, 2^-45. */
				put(w->in[r][0], F16, 0, 15);
				raw_allreduce(&w->cmd[r][0], w->in[r][0], w->out[r][0], 1,
					      COLL_F16, k ? COLL_OP_SUM : COLL_OP_AVG);
				ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][0], 1, NULL));
			}
			for (r = 0; r < 2; r++) {
				ASSERT_EQ(1, raw_collect(w->c.fd[r], &res, 1, 1, 20 * SECOND));
				EXPECT_EQ(0, res.result);
				EXPECT_EQ(k ? ldexp(1, 12) : ldexp(1, 15),
					  get(w->out[r][0], F16, 0));
			}
		}
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
