// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks join one after the other while the rest post named collectives. The result of each operator
 * is that of the ranks which have not joined, and all ranks learn which rank joined last.
 */
#include "named_join.h"

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 2, 1 }, { 5, 1 }, { 2, 2 }, { 4, 2 }, { 3, 3 }, { 6, 4 },
};

#define NR_SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

static const unsigned int ops[] = {
	COLL_OP_SUM, COLL_OP_PROD, COLL_OP_MIN, COLL_OP_MAX, COLL_OP_LAND, COLL_OP_LOR,
	COLL_OP_LXOR, COLL_OP_BAND, COLL_OP_BOR, COLL_OP_BXOR, COLL_OP_AVG,
};

#define NR_OPS	(sizeof(ops) / sizeof(ops[0]))

static void all_ops(struct __test_metadata *_metadata, struct world *w, uint32_t present)
{
	uint32_t k;

	for (k = 0; k < NR_OPS; k++)
		step(_metadata, w, present, ops[k], false);
	step(_metadata, w, present, COLL_OP_AVG, true);
}

/* One rank after the other joins, from @first on. After each join the others post all operators. */
static void one_by_one(struct __test_metadata *_metadata, struct world *w, uint32_t first)
{
	uint32_t present = (1U << w->c.size) - 1, n, r = 0;

	for (n = 0; n < w->c.size; n++) {
		r = (first + n) % w->c.size;
		all_ops(_metadata, w, present);
		ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
		present &= ~(1U << r);
	}
	all_joined(_metadata, w, r);
	EXPECT_TRUE(not_failed(w));
}

TEST(each_rank_first)
{
	struct world *w = &world;
	uint32_t first;
	size_t s;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_JOIN);
	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start_named(&w->c, shapes[s].size, shapes[s].nodes));
		/* Names are new the first time, and known later. */
		for (first = 0; first < w->c.size; first++)
			one_by_one(_metadata, w, first);
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
