// SPDX-License-Identifier: GPL-2.0
/*
 * Two of three ranks have joined. The sum, minimum and maximum of the third rank are its own
 * numbers: zeros keep their sign, and infinities are not changed. Its average is a third of them.
 */
#include <math.h>

#include "named_join.h"

static void floats(struct __test_metadata *_metadata, struct world *w, unsigned int op,
		   float value)
{
	struct coll_tensor_result res;
	uint32_t last = w->c.size - 1;

	w->fin[last][0] = value;
	w->fin[last][1] = -value;
	w->fout[last][0] = w->fout[last][1] = NAN;
	raw_allreduce(&w->cmd[last], w->fin[last], w->fout[last], 2, COLL_F32, op);
	raw_tensor(&w->t[last], op == COLL_OP_MIN ? "fmin" : op == COLL_OP_MAX ? "fmax" :
		   op == COLL_OP_SUM ? "fsum" : "fexact", &w->cmd[last], op);
	ASSERT_EQ(0, raw_post(w->c.fd[last], &w->t[last], 1, NULL));
	one_result(_metadata, w, last, &res);
	EXPECT_EQ(0, res.result);
	EXPECT_EQ(value, w->fout[last][0]);
	EXPECT_EQ(-value, w->fout[last][1]);
	EXPECT_EQ(signbit(value), signbit(w->fout[last][0]));
	EXPECT_EQ(signbit(-value), signbit(w->fout[last][1]));
}

TEST(floats_alone)
{
	static const float values[] = { 0, 1, 3e38f, 1e-40f, INFINITY };
	struct world *w = &world;
	uint32_t nodes, r, k;

	for (nodes = 1; nodes <= 3; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 3, nodes));
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			floats(_metadata, w, COLL_OP_SUM, values[k]);
			floats(_metadata, w, COLL_OP_MIN, values[k]);
			floats(_metadata, w, COLL_OP_MAX, values[k]);
		}
		ASSERT_EQ(0, raw_post(w->c.fd[2], &a_join, 1, NULL));
		all_joined(_metadata, w, 2);
		raw_stop(&w->c);
	}
}

static void average(struct __test_metadata *_metadata, struct world *w, const char *name,
		    void *v, unsigned int dtype, unsigned int flags)
{
	struct coll_tensor_result res;
	uint32_t last = w->c.size - 1;

	raw_allreduce(&w->cmd[last], NULL, v, 2, dtype, COLL_OP_AVG);
	w->cmd[last].flags = COLL_CMD_INPLACE | flags;
	raw_tensor(&w->t[last], name, &w->cmd[last], 0);
	ASSERT_EQ(0, raw_post(w->c.fd[last], &w->t[last], 1, NULL));
	one_result(_metadata, w, last, &res);
	EXPECT_EQ(0, res.result);
}

/* In place, the input of the only rank that takes part is where its result belongs. */
TEST(average_alone)
{
	struct world *w = &world;
	long double l[2];
	uint32_t nodes, r;
	float f[2];

	for (nodes = 1; nodes <= 3; nodes++) {
		ASSERT_EQ(0, raw_start_named(&w->c, 3, nodes));
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], &a_join, 1, NULL));
		f[0] = 3;
		f[1] = -6;
		average(_metadata, w, "wide", f, COLL_F32, 0);
		EXPECT_EQ(1, f[0]);
		average(_metadata, w, "narrow", f, COLL_F32, COLL_CMD_NARROW);
		EXPECT_EQ(1 / 3.0f, f[0]);
		EXPECT_EQ(-2 / 3.0f, f[1]);
		l[0] = 3;
		l[1] = -6;
		average(_metadata, w, "long", l, COLL_LDOUBLE, 0);
		EXPECT_EQ(1, l[0]);
		EXPECT_EQ(-2, l[1]);
		ASSERT_EQ(0, raw_post(w->c.fd[2], &a_join, 1, NULL));
		all_joined(_metadata, w, 2);
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
