// SPDX-License-Identifier: GPL-2.0
/*
 * Test data whose exact result is known without any communication, different
 * for every rank, iteration and element. With n ranks, rank r, iteration t,
 * element i, s = i + t and pos = s mod n:
 *
 *	sum	base + r * step, base in 0..15, step in 1..4; signed types have
 *		base - 8. Result n * base + step * n(n-1)/2: below 2^24 for 1024
 *		ranks, so that every partial sum is exact in f32, in any order.
 *	prod	2 from rank pos; from the others -1 where r + s is odd and the
 *		type is signed, else 1
 *	min,max	base + 3 * ((r + pos) mod n): which rank wins moves with i and t
 *	broadcast	base + 3 * root, elsewhere than on the root another value
 */
#include "collperf.h"

struct gen {
	const struct perf_data *d;
	int64_t bias;		/* 1 for signed types */
	uint32_t n, r, t;
};

bool data_supported(enum coll_dtype dtype)
{
	switch (dtype) {
	case COLL_I32: case COLL_I64: case COLL_U32: case COLL_U64:
	case COLL_F32: case COLL_F64:
		return true;
	default:
		return false;
	}
}

static inline int64_t small_base(const struct gen *g, uint64_t i)
{
	return (int64_t)((i * 7 + g->t * 3) & 15) - 8 * g->bias;
}

static inline int64_t wide_base(const struct gen *g, uint64_t i)
{
	uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ULL + g->t * 0xbf58476d1ce4e5b9ULL;

	return (int64_t)(h >> 44) - 0x80000 * g->bias;
}

static inline int64_t input(const struct gen *g, uint64_t i, uint32_t pos)
{
	uint64_t s = i + g->t;
	uint32_t k;

	if (g->d->what == COLL_BROADCAST)
		return wide_base(g, i) + 3 * (int64_t)g->d->root + (g->r != g->d->root);
	switch (g->d->op) {
	case COLL_OP_SUM:
		return small_base(g, i) + (int64_t)g->r * (int64_t)((s & 3) + 1);
	case COLL_OP_PROD:
		if (g->r == pos)
			return 2;
		return g->bias && ((g->r + s) & 1) ? -1 : 1;
	default:
		k = g->r + pos;
		return wide_base(g, i) + 3 * (int64_t)(k < g->n ? k : k - g->n);
	}
}

static inline int64_t result(const struct gen *g, uint64_t i, uint32_t pos)
{
	int64_t n = g->n;
	uint64_t s = i + g->t;
	uint64_t odd;

	if (g->d->what == COLL_BROADCAST)
		return wide_base(g, i) + 3 * (int64_t)g->d->root;
	switch (g->d->op) {
	case COLL_OP_SUM:
		return n * small_base(g, i) + (int64_t)((s & 3) + 1) * (n * (n - 1) / 2);
	case COLL_OP_PROD:
		/* Ranks with r + s odd, without the one that gives 2. */
		odd = ((uint64_t)n + (s & 1)) / 2 - ((pos + s) & 1);
		return g->bias && (odd & 1) ? -2 : 2;
	case COLL_OP_MIN:
		return wide_base(g, i);
	default:
		return wide_base(g, i) + 3 * (n - 1);
	}
}

static struct gen make_gen(const struct perf_data *d)
{
	return (struct gen){
		.d = d,
		.bias = d->dtype != COLL_U32 && d->dtype != COLL_U64,
		.n = d->size,
		.r = d->rank,
		.t = d->iter,
	};
}

#define DEFINE_TYPE(name, type)							\
static void fill_##name(const struct gen *g, type *buf, uint64_t count)		\
{										\
	uint32_t pos = g->t % g->n;						\
	uint64_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		buf[i] = (type)input(g, i, pos);				\
		pos = pos + 1 == g->n ? 0 : pos + 1;				\
	}									\
}										\
										\
static uint64_t check_##name(const struct gen *g, const type *buf, uint64_t count) \
{										\
	uint32_t pos = g->t % g->n;						\
	uint64_t i, wrong = 0;							\
										\
	for (i = 0; i < count; i++) {						\
		wrong += buf[i] != (type)result(g, i, pos);			\
		pos = pos + 1 == g->n ? 0 : pos + 1;				\
	}									\
	return wrong;								\
}

DEFINE_TYPE(i32, int32_t)
DEFINE_TYPE(i64, int64_t)
DEFINE_TYPE(u32, uint32_t)
DEFINE_TYPE(u64, uint64_t)
DEFINE_TYPE(f32, float)
DEFINE_TYPE(f64, double)

void data_fill(const struct perf_data *d, void *buf, uint64_t count)
{
	struct gen g = make_gen(d);

	switch (d->dtype) {
	case COLL_I32: fill_i32(&g, buf, count); break;
	case COLL_I64: fill_i64(&g, buf, count); break;
	case COLL_U32: fill_u32(&g, buf, count); break;
	case COLL_U64: fill_u64(&g, buf, count); break;
	case COLL_F32: fill_f32(&g, buf, count); break;
	case COLL_F64: fill_f64(&g, buf, count); break;
	default: break;
	}
}

uint64_t data_check(const struct perf_data *d, const void *buf, uint64_t count)
{
	struct gen g = make_gen(d);

	switch (d->dtype) {
	case COLL_I32: return check_i32(&g, buf, count);
	case COLL_I64: return check_i64(&g, buf, count);
	case COLL_U32: return check_u32(&g, buf, count);
	case COLL_U64: return check_u64(&g, buf, count);
	case COLL_F32: return check_f32(&g, buf, count);
	case COLL_F64: return check_f64(&g, buf, count);
	default: return count;
	}
}
