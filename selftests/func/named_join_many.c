// SPDX-License-Identifier: GPL-2.0
/*
 * A rank joins after another rank has posted tensors. They end, be they one or 300.
 */
#include <stdio.h>

#include "named_join.h"

#define MANY	300

/* Rank @joins joins after the other rank has posted MANY tensors: all become ready at once. */
static void join_behind(struct __test_metadata *_metadata, struct world *w, uint32_t joins)
{
	static struct coll_tensor t[MANY];
	static struct coll_cmd cmds[MANY];
	static char names[MANY][16];
	static int32_t in[MANY], out[MANY];
	struct coll_tensor_result res[MANY];
	uint32_t k;

	for (k = 0; k < MANY; k++) {
		in[k] = 1000 * joins + k;
		out[k] = -1;
		snprintf(names[k], sizeof(names[k]), "many %u", k);
		raw_allreduce(&cmds[k], &in[k], &out[k], 1, COLL_I32, COLL_OP_SUM);
		raw_tensor(&t[k], names[k], &cmds[k], k);
	}
	ASSERT_EQ(0, raw_post(w->c.fd[!joins], t, MANY, NULL));
	ASSERT_EQ(0, raw_post(w->c.fd[joins], &a_join, 1, NULL));
	ASSERT_EQ(MANY, raw_collect(w->c.fd[!joins], res, MANY, MANY, 20 * SECOND));
	for (k = 0; k < MANY; k++) {
		EXPECT_EQ(0, res[k].result);
		EXPECT_EQ(in[k], out[k]);
	}
	ASSERT_EQ(0, raw_post(w->c.fd[!joins], &a_join, 1, NULL));
	all_joined(_metadata, w, !joins);
}

TEST(many_behind_a_join)
{
	struct world *w = &world;
	uint32_t nodes, joins;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		for (joins = 0; joins < 2; joins++)
			join_behind(_metadata, w, joins);
		raw_stop(&w->c);
	}
}

/* A tensor that was posted before the join still ends well. */
TEST(posted_before)
{
	struct coll_tensor_result res;
	struct world *w = &world;
	uint32_t nodes, first;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 2, nodes));
		for (first = 0; first < 2; first++) {
			make(w, 0, "before", COLL_OP_MAX, false);
			make(w, 1, "before", COLL_OP_MAX, false);
			ASSERT_EQ(0, raw_post(w->c.fd[first], &w->t[first], 1, NULL));
			ASSERT_EQ(0, raw_post(w->c.fd[first], &a_join, 1, NULL));
			ASSERT_EQ(0, raw_post(w->c.fd[!first], &w->t[!first], 1, NULL));
			one_result(_metadata, w, !first, &res);
			EXPECT_EQ(0, res.result);
			EXPECT_EQ(wanted(w, 3, COLL_OP_MAX, 5, false), w->out[!first][5]);
			one_result(_metadata, w, first, &res);
			EXPECT_EQ(COLL_OP_MAX, res.tag);
			EXPECT_EQ(wanted(w, 3, COLL_OP_MAX, 5, false), w->out[first][5]);
			ASSERT_EQ(0, raw_post(w->c.fd[!first], &a_join, 1, NULL));
			all_joined(_metadata, w, !first);
		}
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
