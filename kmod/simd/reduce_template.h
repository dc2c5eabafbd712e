/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The vector reductions, for any instruction set: an object defines VEC_BYTES and
 * COLL_SIMD_TABLE, includes this, and is compiled with the flags of its set.
 *
 * sweep() is the only reduction. It works on vectors of untyped bits; type, operator
 * and, where it pays, the number of inputs and outputs are constants to it, and
 * since everything is inlined into it, each specialisation has a loop of its own.
 */
#ifndef COLL_SIMD_REDUCE_TEMPLATE_H
#define COLL_SIMD_REDUCE_TEMPLATE_H

#include "simd.h"

#define coll_always_inline	inline __attribute__((always_inline))

/* sparse knows no vectors: to it these are scalars, and that type-checks too. */
#ifdef __CHECKER__
#define VECTOR(type)	type
#define VEC_ZERO	0
#define LANE0(v)	(v)
#else
#define VECTOR(type)	type __attribute__((vector_size(VEC_BYTES)))
#define VEC_ZERO	{}
#define LANE0(v)	((v)[0])
#endif

typedef VECTOR(u64) vec;	/* the bits, of whatever type */
typedef VECTOR(u32) vec_u32;
typedef VECTOR(s32) vec_s32;
typedef VECTOR(u64) vec_u64;
typedef VECTOR(s64) vec_s64;
typedef VECTOR(float) vec_f32;
typedef VECTOR(double) vec_f64;

static coll_always_inline vec load(const u8 *p)
{
	vec v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static coll_always_inline void store(u8 *p, vec v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

/* A comparison of vectors gives all ones where it holds, so it can select. */
static coll_always_inline vec select(vec mask, vec yes, vec no)
{
	return (yes & mask) | (no & ~mask);
}

/* Fold @b, which came later, into @a. */
#define STEP_INT(name, type, arith)						\
static coll_always_inline vec name(u32 op, vec a, vec b)			\
{										\
	switch (op) {								\
	case COLL_OP_SUM:							\
		return (vec)((arith)a + (arith)b);				\
	case COLL_OP_PROD:							\
		return (vec)((arith)a * (arith)b);				\
	case COLL_OP_MIN:							\
		return select((vec)((type)b < (type)a), b, a);			\
	default:								\
		return select((vec)((type)b > (type)a), b, a);			\
	}									\
}

/* min and max: a NaN in a is never left, one in b is always taken. */
#define STEP_FLOAT(name, type)							\
static coll_always_inline vec name(u32 op, vec a, vec b)			\
{										\
	switch (op) {								\
	case COLL_OP_SUM:							\
		return (vec)((type)a + (type)b);				\
	case COLL_OP_PROD:							\
		return (vec)((type)a * (type)b);				\
	case COLL_OP_MIN:							\
		return select(~(vec)((type)b >= (type)a) &			\
			      (vec)((type)a == (type)a), b, a);			\
	default:								\
		return select(~(vec)((type)b <= (type)a) &			\
			      (vec)((type)a == (type)a), b, a);			\
	}									\
}

STEP_INT(step_u32, vec_u32, vec_u32)
STEP_INT(step_s32, vec_s32, vec_u32)
STEP_INT(step_u64, vec_u64, vec_u64)
STEP_INT(step_s64, vec_s64, vec_u64)
STEP_FLOAT(step_f32, vec_f32)
STEP_FLOAT(step_f64, vec_f64)

static coll_always_inline vec step(u32 dtype, u32 op, vec a, vec b)
{
	switch (dtype) {
	case COLL_U32:
		return step_u32(op, a, b);
	case COLL_I32:
		return step_s32(op, a, b);
	case COLL_U64:
		return step_u64(op, a, b);
	case COLL_I64:
		return step_s64(op, a, b);
	case COLL_F32:
		return step_f32(op, a, b);
	default:
		return step_f64(op, a, b);
	}
}

/* What becomes of a fold at its end: a computed NaN becomes the one NaN. */
static coll_always_inline vec finish(u32 dtype, u32 op, vec a)
{
	vec_u32 nan32 = VEC_ZERO;
	vec_u64 nan64 = VEC_ZERO;

	nan32 += 0x7fc00000U;
	nan64 += 0x7ff8000000000000ULL;
	if (op != COLL_OP_SUM && op != COLL_OP_PROD)
		return a;
	if (dtype == COLL_F32)
		return select((vec)((vec_f32)a == (vec_f32)a), a, (vec)nan32);
	if (dtype == COLL_F64)
		return select((vec)((vec_f64)a == (vec_f64)a), a, (vec)nan64);
	return a;
}

/* One element as a vector whose other lanes are zero, and back. */
static coll_always_inline vec load_one(const u8 *p, size_t size)
{
	u64 bits = 0;
	vec v = VEC_ZERO;

	__builtin_memcpy(&bits, p, size);
	LANE0(v) = bits;
	return v;
}

static coll_always_inline void store_one(u8 *p, vec v, size_t size)
{
	u64 bits = LANE0(v);

	__builtin_memcpy(p, &bits, size);
}

#define STEP4(p) do {							\
	a = step(dtype, op, a, load((p) + i));				\
	b = step(dtype, op, b, load((p) + i + VEC_BYTES));		\
	c = step(dtype, op, c, load((p) + i + 2 * VEC_BYTES));		\
	d = step(dtype, op, d, load((p) + i + 3 * VEC_BYTES));		\
} while (0)
#define STORE4(p) do {							\
	store((p) + i, a);						\
	store((p) + i + VEC_BYTES, b);					\
	store((p) + i + 2 * VEC_BYTES, c);				\
	store((p) + i + 3 * VEC_BYTES, d);				\
} while (0)

/*
 * Four vectors at a time, for as long as there are as many. At each position
 * everything is loaded before anything is stored, because an output may be an
 * input. Pointers of the first vectors live in registers: the compiler must
 * assume that a store changes the arrays they came from. Returns the bytes done.
 */
static coll_always_inline size_t sweep4(u32 dtype, u32 op,
					void *const *out, unsigned int nr_out,
					const void *const *in, unsigned int nr_in,
					size_t bytes)
{
	const u8 *in0 = in[0];
	const u8 *in1 = in[1];
	const u8 *in2 = nr_in > 2 ? in[2] : NULL;
	u8 *out0 = out[0];
	unsigned int k;
	size_t i = 0;
	vec a, b, c, d;

	for (; bytes - i >= 4 * VEC_BYTES; i += 4 * VEC_BYTES) {
		a = load(in0 + i);
		b = load(in0 + i + VEC_BYTES);
		c = load(in0 + i + 2 * VEC_BYTES);
		d = load(in0 + i + 3 * VEC_BYTES);
		STEP4(in1);
		if (nr_in > 2)
			STEP4(in2);
		for (k = 3; k < nr_in; k++)
			STEP4((const u8 *)in[k]);
		a = finish(dtype, op, a);
		b = finish(dtype, op, b);
		c = finish(dtype, op, c);
		d = finish(dtype, op, d);
		STORE4(out0);
		for (k = 1; k < nr_out; k++)
			STORE4((u8 *)out[k]);
	}
	return i;
}

static coll_always_inline void sweep(u32 dtype, u32 op,
				     void *const *out, unsigned int nr_out,
				     const void *const *in, unsigned int nr_in,
				     size_t bytes)
{
	const size_t size = dtype == COLL_F64 || dtype == COLL_I64 ||
			    dtype == COLL_U64 ? 8 : 4;
	size_t i = sweep4(dtype, op, out, nr_out, in, nr_in, bytes);
	unsigned int k;
	vec a;

	for (; bytes - i >= VEC_BYTES; i += VEC_BYTES) {
		a = load((const u8 *)in[0] + i);
		for (k = 1; k < nr_in; k++)
			a = step(dtype, op, a, load((const u8 *)in[k] + i));
		a = finish(dtype, op, a);
		for (k = 0; k < nr_out; k++)
			store((u8 *)out[k] + i, a);
	}

	for (; i < bytes; i += size) {
		a = load_one((const u8 *)in[0] + i, size);
		for (k = 1; k < nr_in; k++)
			a = step(dtype, op, a, load_one((const u8 *)in[k] + i, size));
		a = finish(dtype, op, a);
		for (k = 0; k < nr_out; k++)
			store_one((u8 *)out[k] + i, a, size);
	}
}

/* nr_in 1: the bits of the only input to all outputs, whatever their type. */
static void copy(void *const *out, unsigned int nr_out, const u8 *in, size_t bytes)
{
	unsigned int k;
	size_t i = 0;
	vec a, b;

	for (; bytes - i >= 2 * VEC_BYTES; i += 2 * VEC_BYTES) {
		a = load(in + i);
		b = load(in + i + VEC_BYTES);
		for (k = 0; k < nr_out; k++) {
			store((u8 *)out[k] + i, a);
			store((u8 *)out[k] + i + VEC_BYTES, b);
		}
	}
	for (; i < bytes; i += 4) {
		a = load_one(in + i, 4);
		for (k = 0; k < nr_out; k++)
			store_one((u8 *)out[k] + i, a, 4);
	}
}

/* Two inputs: one rank and what was received; three: two ranks of a node. */
static coll_always_inline void reduce(u32 dtype, u32 op,
				      void *const *out, unsigned int nr_out,
				      const void *const *in, unsigned int nr_in,
				      size_t bytes)
{
	if (nr_in == 1)
		copy(out, nr_out, in[0], bytes);
	else if (nr_in == 2 && nr_out == 1)
		sweep(dtype, op, out, 1, in, 2, bytes);
	else if (nr_in == 2)
		sweep(dtype, op, out, nr_out, in, 2, bytes);
	else if (nr_in == 3 && nr_out == 1)
		sweep(dtype, op, out, 1, in, 3, bytes);
	else if (nr_in == 3)
		sweep(dtype, op, out, nr_out, in, 3, bytes);
	else
		sweep(dtype, op, out, nr_out, in, nr_in, bytes);
}

#define REDUCE(name, op, dtype, type)						\
static void name(void *const *out, unsigned int nr_out,				\
		 const void *const *in, unsigned int nr_in, size_t count)	\
{										\
	reduce(dtype, op, out, nr_out, in, nr_in, count * sizeof(type));	\
}

REDUCE(sum_u32, COLL_OP_SUM, COLL_U32, u32)
REDUCE(prod_u32, COLL_OP_PROD, COLL_U32, u32)
REDUCE(min_u32, COLL_OP_MIN, COLL_U32, u32)
REDUCE(max_u32, COLL_OP_MAX, COLL_U32, u32)
REDUCE(min_s32, COLL_OP_MIN, COLL_I32, s32)
REDUCE(max_s32, COLL_OP_MAX, COLL_I32, s32)
REDUCE(sum_u64, COLL_OP_SUM, COLL_U64, u64)
REDUCE(prod_u64, COLL_OP_PROD, COLL_U64, u64)
REDUCE(min_u64, COLL_OP_MIN, COLL_U64, u64)
REDUCE(max_u64, COLL_OP_MAX, COLL_U64, u64)
REDUCE(min_s64, COLL_OP_MIN, COLL_I64, s64)
REDUCE(max_s64, COLL_OP_MAX, COLL_I64, s64)
REDUCE(sum_f32, COLL_OP_SUM, COLL_F32, float)
REDUCE(prod_f32, COLL_OP_PROD, COLL_F32, float)
REDUCE(min_f32, COLL_OP_MIN, COLL_F32, float)
REDUCE(max_f32, COLL_OP_MAX, COLL_F32, float)
REDUCE(sum_f64, COLL_OP_SUM, COLL_F64, double)
REDUCE(prod_f64, COLL_OP_PROD, COLL_F64, double)
REDUCE(min_f64, COLL_OP_MIN, COLL_F64, double)
REDUCE(max_f64, COLL_OP_MAX, COLL_F64, double)

#define ROW(arith, order) {			\
	[COLL_OP_SUM]	= sum_##arith,		\
	[COLL_OP_PROD]	= prod_##arith,		\
	[COLL_OP_MIN]	= min_##order,		\
	[COLL_OP_MAX]	= max_##order,		\
}

const struct coll_simd COLL_SIMD_TABLE = {
	.name = COLL_SIMD_NAME,
	.fn = {
		[COLL_I32] = ROW(u32, s32),
		[COLL_U32] = ROW(u32, u32),
		[COLL_I64] = ROW(u64, s64),
		[COLL_U64] = ROW(u64, u64),
		[COLL_F32] = ROW(f32, f32),
		[COLL_F64] = ROW(f64, f64),
	},
};

#endif /* COLL_SIMD_REDUCE_TEMPLATE_H */
