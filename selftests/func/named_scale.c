// SPDX-License-Identifier: GPL-2.0
/*
 * Inputs and results of named allreduces are multiplied by factors, with fusion and without. All
 * results are exact.
 */
#include <sys/ioctl.h>

#include "named_scale.h"

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 3, 1 }, { 2, 2 }, { 5, 3 }, { 4, 4 },
};

TEST(all_factors)
{
	struct world *w = &world;
	struct coll_tensor_fuse f;
	size_t s, n;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_SCALE);
	for (s = 0; s < NR(shapes); s++) {
		ASSERT_EQ(0, raw_start_named(&w->c, shapes[s].size, shapes[s].nodes));
		w->round = s;
		for (n = 0; n < 2 * NR(factors); n++) {
			f = (struct coll_tensor_fuse){ .threshold = n & 1 ? 1 << 20 : 0 };
			ASSERT_EQ(0, ioctl(w->c.fd[0], COLL_IOC_TENSOR_FUSE, &f));
			step(_metadata, w, (1U << w->c.size) - 1);
		}
		raw_stop(&w->c);
	}
}

/*
 * The same tensor with other factors each time: a plan that was made for one factor must not be
 * used for another.
 */
TEST(another_factor_each_time)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		w->round = 0;
		for (k = 1; k < 20; k++) {
			for (r = 0; r < 2; r++) {
				make(w, r, 1, k & 1 ? k : 0.5, k & 2 ? k : 2);
				ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][1], 1, NULL));
			}
			for (r = 0; r < 2; r++) {
				ASSERT_EQ(1, raw_collect(w->c.fd[r], &res, 1, 1, 20 * SECOND));
				ASSERT_TRUE(is_right(_metadata, w, r, 1, 3, k & 1 ? k : 0.5,
						     k & 2 ? k : 2));
			}
		}
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
