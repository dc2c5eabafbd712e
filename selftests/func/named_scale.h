/* SPDX-License-Identifier: GPL-2.0 */
/* Named allreduces of f16, f32 and f64 whose inputs and results are multiplied by factors. */
#ifndef NAMED_SCALE_H
#define NAMED_SCALE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define RANKS	6
#define COUNT	3001
#define NAMES	24
#define NR(a)	(sizeof(a) / sizeof((a)[0]))

static const unsigned int algorithms[] = {
	COLL_ALG_AUTO, COLL_ALG_RING, COLL_ALG_RECURSIVE_DOUBLING, COLL_ALG_RABENSEIFNER,
};

/* 0: no factor */
static const struct { double pre, post; } factors[] = {
	{ 0, 0 }, { 0.5, 0 }, { 0, 0.25 }, { -2, 0.5 }, { 1, 4 }, { 1, 1 }, { 0.125, -8 },
};

static const struct coll_tensor a_join = { .flags = COLL_TENSOR_JOIN };

/**
 * struct world - the tensors of all ranks
 * @c: the communicator
 * @round: chooses the factors, the algorithm and the operators
 * @cmd: commands, by rank and tensor
 * @t: tensors, by rank
 * @names: of the tensors
 * @in: inputs, of any type
 * @out: results, of any type
 */
static struct world {
	struct raw_comm c;
	uint32_t round;
	struct coll_cmd cmd[RANKS][NAMES];
	struct coll_tensor t[RANKS][NAMES];
	char names[NAMES][24];
	double in[RANKS][NAMES][COUNT], out[RANKS][NAMES][COUNT];
} world;

static inline uint64_t bits(double d)
{
	uint64_t b;

	memcpy(&b, &d, sizeof(b));
	return b;
}

/* 2 to the @power, as f16. Sums of powers up to 5 are exact. */
static inline uint16_t half(unsigned int power)
{
	return (uint16_t)((15 + power) << 10);
}

static inline unsigned int power(uint32_t r, uint32_t k, uint32_t i)
{
	return (r + k + i) % 6;
}

static inline double half_value(uint16_t h)
{
	double d = ldexp((h & 0x3ff) + 1024, (h >> 10 & 31) - 25);

	return h >> 15 ? -d : d;
}

enum { F16, F32, F64, NR_TYPES };

static const unsigned int dtypes[NR_TYPES] = { COLL_F16, COLL_F32, COLL_F64 };

static inline void put(void *to, unsigned int type, uint32_t i, unsigned int p)
{
	if (type == F16)
		((uint16_t *)to)[i] = half(p);
	else if (type == F32)
		((float *)to)[i] = ldexpf(1, p);
	else
		((double *)to)[i] = ldexp(1, p);
}

static inline double get(const void *from, unsigned int type, uint32_t i)
{
	if (type == F16)
		return half_value(((const uint16_t *)from)[i]);
	return type == F32 ? ((const float *)from)[i] : ((const double *)from)[i];
}

static inline unsigned int type_of(uint32_t k)
{
	return k % NR_TYPES;
}

static inline uint32_t count_of(uint32_t k)
{
	return k % 5 ? 1 + k * 3 : COUNT;
}

static inline unsigned int op_of(const struct world *w, uint32_t k)
{
	return (k + w->round) % 4 ? COLL_OP_SUM : COLL_OP_AVG;
}

static inline void make(struct world *w, uint32_t r, uint32_t k, double pre, double post)
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

/* Is tensor @k right on rank @r? The ranks of @present have posted it. All but AVG is exact. */
static inline bool is_right(struct __test_metadata *_metadata, const struct world *w, uint32_t r,
			    uint32_t k, uint32_t present, double pre, double post)
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

/* The ranks of @present post all tensors, with the factors of this round. All results are right. */
static inline void step(struct __test_metadata *_metadata, struct world *w, uint32_t present)
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

#endif /* NAMED_SCALE_H */
