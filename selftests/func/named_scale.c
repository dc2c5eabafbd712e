// SPDX-License-Identifier: GPL-2.0
/*
 * Factors of named allreduces: inputs and results are multiplied, fused or not, also where
 * ranks have joined; ranks that have other factors are told, and bad ones are refused.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define RANKS	6
#define COUNT	3001
#define NAMES	24

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 3, 1 }, { 2, 2 }, { 5, 3 }, { 4, 4 },
};

static const unsigned int algorithms[] = {
	COLL_ALG_AUTO, COLL_ALG_RING, COLL_ALG_RECURSIVE_DOUBLING, COLL_ALG_RABENSEIFNER,
};

/* 0 stands for none */
static const struct { double pre, post; } factors[] = {
	{ 0, 0 }, { 0.5, 0 }, { 0, 0.25 }, { -2, 0.5 }, { 1, 4 }, { 1, 1 }, { 0.125, -8 },
};

#define NR(a)	(sizeof(a) / sizeof((a)[0]))

static const struct coll_tensor a_join = { .flags = COLL_TENSOR_JOIN };

static struct world {
	struct raw_comm c;
	uint32_t round;
	struct coll_cmd cmd[RANKS][NAMES];
	struct coll_tensor t[RANKS][NAMES];
	char names[NAMES][24];
	double in[RANKS][NAMES][COUNT], out[RANKS][NAMES][COUNT];
} world;

static uint64_t bits(double d)
{
	uint64_t b;

	memcpy(&b, &d, sizeof(b));
	return b;
}

/* 1, 2, 4 and so on up to 32, as f16: no sum of them is rounded. */
static uint16_t half(unsigned int power)
{
	return (uint16_t)((15 + power) << 10);
}

static unsigned int power(uint32_t r, uint32_t k, uint32_t i)
{
	return (r + k + i) % 6;
}

static double half_value(uint16_t h)
{
	double d = ldexp((h & 0x3ff) + 1024, (h >> 10 & 31) - 25);

	return h >> 15 ? -d : d;
}

enum { F16, F32, F64, NR_TYPES };

static const unsigned int dtypes[NR_TYPES] = { COLL_F16, COLL_F32, COLL_F64 };

static void put(void *to, unsigned int type, uint32_t i, unsigned int p)
{
	if (type == F16)
		((uint16_t *)to)[i] = half(p);
	else if (type == F32)
		((float *)to)[i] = ldexpf(1, p);
	else
		((double *)to)[i] = ldexp(1, p);
}

static double get(const void *from, unsigned int type, uint32_t i)
{
	if (type == F16)
		return half_value(((const uint16_t *)from)[i]);
	return type == F32 ? ((const float *)from)[i] : ((const double *)from)[i];
}

static unsigned int type_of(uint32_t k)
{
	return k % NR_TYPES;
}

static uint32_t count_of(uint32_t k)
{
	return k % 5 ? 1 + k * 3 : COUNT;
}

static unsigned int op_of(const struct world *w, uint32_t k)
{
	return (k + w->round) % 4 ? COLL_OP_SUM : COLL_OP_AVG;
}

static void make(struct world *w, uint32_t r, uint32_t k, double pre, double post)
{
	bool in_place = (r + k) % 3 == 0;
	uint32_t i;

	snprintf(w->names[k], sizeof(w->names[k]), "t%u", k);
	for (i = 0; i < count_of(k); i++)
		put(in_place ? w->out[r][k] : w->in[r][k], type_of(k), i, power(r, k, i));
	raw_allreduce(&w->cmd[r][k], in_place ? NULL : w->in[r][k], w->out[r][k], count_of(k),
		      dtypes[type_of(k)], op_of(w, k));
	w->cmd[r][k].algorithm = (uint16_t)algorithms[w->round % NR(algorithms)];
	raw_tensor(&w->t[r][k], w->names[k], &w->cmd[r][k], k);
	w->t[r][k].prescale = bits(pre);
	w->t[r][k].postscale = bits(post);
}

/* Ranks of @present have posted it. All but the division is exact. */
static bool is_right(struct __test_metadata *_metadata, const struct world *w, uint32_t r, uint32_t k,
		     uint32_t present, double pre, double post)
{
	double want, got;
	uint32_t i, s;

	for (i = 0; i < count_of(k); i++) {
		want = 0;
		for (s = 0; s < w->c.size; s++)
			if (present >> s & 1)
				want += ldexp(pre ? pre : 1, power(s, k, i));
		if (op_of(w, k) == COLL_OP_AVG)
			want /= w->c.size;
		want *= post ? post : 1;
		got = get(w->out[r][k], type_of(k), i);
		if (fabs(got - want) <= (op_of(w, k) == COLL_OP_AVG ? 1e-3 * fabs(want) : 0))
			continue;
		TH_LOG("rank %u of %u on %u nodes, tensor %u, round %u, present %#x, factors %g %g: [%u] %.17g, not %.17g",
		       r, w->c.size, w->c.nodes, k, w->round, present, pre, post, i, got, want);
		return false;
	}
	return true;
}

/* All of @present post all tensors, and all is as it should be. */
static void step(struct __test_metadata *_metadata, struct world *w, uint32_t present)
{
	double pre = factors[w->round % NR(factors)].pre;
	double post = factors[w->round % NR(factors)].post;
	struct coll_tensor_result res[NAMES];
	uint32_t r, k;

	for (r = 0; r < w->c.size; r++) {
		if (!(present >> r & 1))
			continue;
		for (k = 0; k < NAMES; k++)
			make(w, r, k, pre, post);
		ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], NAMES, NULL));
	}
	for (r = 0; r < w->c.size; r++) {
		if (!(present >> r & 1))
			continue;
		ASSERT_EQ(NAMES, raw_collect(w->c.fd[r], res, NAMES, NAMES, 60 * SECOND));
		for (k = 0; k < NAMES; k++) {
			ASSERT_EQ(0, res[k].result);
			ASSERT_TRUE(is_right(_metadata, w, r, res[k].tag, present, pre, post));
		}
	}
	w->round++;
}

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

/* One tensor after the other: what is laid out for one factor does not serve for another. */
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

/* The identity of a node whose ranks have joined is not multiplied: it would become +0. */
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

/* A factor too small for f16, and a sum too large for it: neither is lost in f32. */
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
				/* 2^15 + 2^15 is too much; on the other hand 2^-60 is too little */
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
		/* 1 is the same as none. */
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
	/* Nothing of it has stayed. */
	step(_metadata, w, 1);
	raw_stop(&w->c);
}

TEST_HARNESS_MAIN
