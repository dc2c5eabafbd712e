/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Shared by the files of the scalar reference: the loop, and the names of the functions. One
 * element after the other, and not a thought about speed.
 */
#ifndef COLL_PURE_REDUCE_SCALAR_H
#define COLL_PURE_REDUCE_SCALAR_H

#include "reduce.h"

typedef float f32;
typedef double f64;

/*
 * One operator on one type. Elements are of type acc_<type> once get_<type>() has
 * read them and until put_<type>() writes them: vectors may have any alignment,
 * and small floats are folded in f32. An element is read from all inputs before it
 * is written, because outputs may be inputs.
 *
 * @bits: kind of copy for a fold of one input
 * @scale: what is done to b, input k, first
 * @step: folds b, which came later, into a
 * @result: what becomes of the fold
 */
#define COLL_FOLD_LOOP(type, scale, step, result)				\
{										\
	acc_##type a, b;							\
	unsigned int k;								\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		k = 0;								\
		b = get_##type(in[0], i);					\
		scale;								\
		a = b;								\
		for (k = 1; k < nr_in; k++) {					\
			b = get_##type(in[k], i);				\
			scale;							\
			a = step;						\
		}								\
		a = result;							\
		for (k = 0; k < nr_out; k++)					\
			put_##type(out[k], i, a);				\
	}									\
}

#define COLL_FOLD_ARGS								\
	void *const *out, unsigned int nr_out, const void *const *in,		\
	unsigned int nr_in, size_t count, const struct coll_reduce_arg *arg

#define COLL_FOLD(op, type, bits, step, result)					\
void coll_scalar_##op##_##type(COLL_FOLD_ARGS)					\
{										\
	if (nr_in == 1)								\
		coll_scalar_no_op_##bits(out, nr_out, in, 1, count, arg);	\
	else									\
		COLL_FOLD_LOOP(type, (void)0, step, result)			\
}

/* avg computes even with one input. It finds the divisor in n. */
#define COLL_FOLD_AVG(type, step, result)					\
void coll_scalar_avg_##type(COLL_FOLD_ARGS)					\
{										\
	const u32 n = arg->divisor;						\
										\
	COLL_FOLD_LOOP(type, (void)0, step, result)				\
}

/* @times: b, multiplied by s, the factor of input k */
#define COLL_FOLD_SCALED(type, times, step, result)				\
static inline acc_##type scaled_##type(acc_##type b, unsigned int k,		\
				       const struct coll_reduce_arg *arg)	\
{										\
	acc_##type s;								\
										\
	if (k < arg->nr_folded)							\
		return b;							\
	s = get_##type(&arg->scale[k - arg->nr_folded], 0);			\
	return times;								\
}										\
										\
void coll_scalar_premulsum_##type(COLL_FOLD_ARGS)				\
{										\
	COLL_FOLD_LOOP(type, b = scaled_##type(b, k, arg), step, result)	\
}

/* Between a type and the wider one of its partial results. */
#define COLL_CONVERT(type, wide)						\
void coll_scalar_to_wide_##type(COLL_FOLD_ARGS)					\
{										\
	unsigned int k;								\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		const wide a = get_##type(in[0], i);				\
										\
		for (k = 0; k < nr_out; k++)					\
			put_##wide(out[k], i, a);				\
	}									\
}										\
										\
void coll_scalar_from_wide_##type(COLL_FOLD_ARGS)					\
{										\
	unsigned int k;								\
	size_t i;								\
										\
	for (i = 0; i < count; i++) {						\
		const wide a = get_##wide(in[0], i);				\
										\
		for (k = 0; k < nr_out; k++)					\
			put_##type(out[k], i, a);				\
	}									\
}

/* get_ and put_ of types that are folded as they are. */
#define COLL_FOLD_NATIVE(type, c_type)						\
typedef c_type acc_##type;							\
										\
static inline c_type get_##type(const void *v, size_t i)			\
{										\
	c_type a;								\
										\
	__builtin_memcpy(&a, (const u8 *)v + i * sizeof(a), sizeof(a));		\
	return a;								\
}										\
										\
static inline void put_##type(void *v, size_t i, c_type a)			\
{										\
	__builtin_memcpy((u8 *)v + i * sizeof(a), &a, sizeof(a));		\
}

/* The result of a fold of floats. */
#define COLL_FOLD_ONE_NAN(type, nan)						\
static inline acc_##type one_nan_##type(acc_##type a)				\
{										\
	return a == a ? a : nan;						\
}

/*
 * IEEE 754-2019 minimum and maximum, whose NaN need not be the one NaN yet: any
 * operation gives a NaN of NaNs. If both are zero the sign decides.
 */
#define COLL_FOLD_ORDER(type)							\
static inline acc_##type min_##type(acc_##type a, acc_##type b)			\
{										\
	if (a != a || b != b)							\
		return a + b;							\
	if (a == b)								\
		return __builtin_signbit(a) ? a : b;				\
	return b < a ? b : a;							\
}										\
										\
static inline acc_##type max_##type(acc_##type a, acc_##type b)			\
{										\
	if (a != a || b != b)							\
		return a + b;							\
	if (a == b)								\
		return __builtin_signbit(a) ? b : a;				\
	return b > a ? b : a;							\
}

#define COLL_FOLD_FLOAT(type, bits)						\
COLL_FOLD(sum, type, bits, a + b, one_nan_##type(a))				\
COLL_FOLD(prod, type, bits, a * b, one_nan_##type(a))				\
COLL_FOLD(min, type, bits, min_##type(a, b), one_nan_##type(a))			\
COLL_FOLD(max, type, bits, max_##type(a, b), one_nan_##type(a))			\
COLL_FOLD_AVG(type, a + b, one_nan_##type(a / (acc_##type)n))

/*
 * Pairs; bits of a and b are copied, but padding and, if fixed does so, a NaN.
 * @wins: true if b.value is to be taken whatever the indices, < or >
 */
#define COLL_FOLD_PAIR(op, type, bits, wins, fixed)				\
COLL_FOLD(op, type, bits,							\
	  wins(b.value, a.value) ||						\
	  (!wins(a.value, b.value) && b.index < a.index) ? b : a, fixed(a))

/* A NaN is smaller (larger) than every number, but not than a NaN. */
#define COLL_LESS_INT(x, y)	((x) < (y))
#define COLL_MORE_INT(x, y)	((x) > (y))
#define COLL_LESS_FLOAT(x, y)	((x) < (y) || ((x) != (x) && (y) == (y)))
#define COLL_MORE_FLOAT(x, y)	((x) > (y) || ((x) != (x) && (y) == (y)))

/* The names of the functions, in groups of operators. */
#define NAME(op, kind)		coll_scalar_##op##_##kind
#define NAMES_COPY(bits)	NAME(no_op, bits), NAME(replace, bits)
#define NAMES_ADD(type)		NAME(sum, type), NAME(prod, type), NAME(avg, type)
#define NAMES_ORDER(type)	NAME(min, type), NAME(max, type)
#define NAMES_LOGIC(type)	NAME(land, type), NAME(lor, type), NAME(lxor, type)
#define NAMES_BITS(type)	NAME(band, type), NAME(bor, type), NAME(bxor, type)
#define NAMES_PAIR(type)	NAME(minloc, type), NAME(maxloc, type)
#define NAMES_SIGNED(type)	NAMES_ORDER(type), NAME(avg, type)
#define NAMES_FLOAT(type)	NAMES_ADD(type), NAMES_ORDER(type), NAME(premulsum, type)
#define NAMES_WIDE(type)	NAME(to_wide, type), NAME(from_wide, type)
#define NAMES_INT(type)		NAMES_FLOAT(type), NAMES_LOGIC(type), NAMES_BITS(type)

#define DECLARE(names)		coll_reduce_fn names

/*
 * reduce_scalar_copy.c: b16_b32 is 16 bits, padding, and 32 bits; b80 is followed
 * by padding always.
 */
DECLARE(NAMES_COPY(b8));
DECLARE(NAMES_COPY(b16));
DECLARE(NAMES_COPY(b32));
DECLARE(NAMES_COPY(b64));
DECLARE(NAMES_COPY(b128));
DECLARE(NAMES_COPY(b16_b32));
DECLARE(NAMES_COPY(b64_b32));
DECLARE(NAMES_COPY(b80));
DECLARE(NAMES_COPY(b80_b80));
DECLARE(NAMES_COPY(b80_b32));

/* reduce_scalar_int.c */
DECLARE(NAMES_INT(u8));
DECLARE(NAMES_INT(u16));
DECLARE(NAMES_INT(u32));
DECLARE(NAMES_INT(u64));
DECLARE(NAMES_SIGNED(s8));
DECLARE(NAMES_SIGNED(s16));
DECLARE(NAMES_SIGNED(s32));
DECLARE(NAMES_SIGNED(s64));
DECLARE(NAMES_WIDE(u8));
DECLARE(NAMES_WIDE(s8));
DECLARE(NAMES_WIDE(u16));
DECLARE(NAMES_WIDE(s16));
DECLARE(NAMES_WIDE(u32));
DECLARE(NAMES_WIDE(s32));

/* reduce_scalar_float.c */
DECLARE(NAMES_FLOAT(f32));
DECLARE(NAMES_FLOAT(f64));
DECLARE(NAMES_ADD(c32));
DECLARE(NAMES_ADD(c64));
DECLARE(NAME(premulsum, c32));

/* reduce_scalar_small.c */
DECLARE(NAMES_FLOAT(f16));
DECLARE(NAMES_FLOAT(bf16));
DECLARE(NAMES_FLOAT(e4m3));
DECLARE(NAMES_FLOAT(e5m2));
DECLARE(NAMES_WIDE(f16));
DECLARE(NAMES_WIDE(bf16));
DECLARE(NAMES_WIDE(e4m3));
DECLARE(NAMES_WIDE(e5m2));

/* reduce_scalar_pair.c */
DECLARE(NAMES_PAIR(f32_i32));
DECLARE(NAMES_PAIR(f64_i32));
DECLARE(NAMES_PAIR(i64_i32));
DECLARE(NAMES_PAIR(i32_i32));
DECLARE(NAMES_PAIR(i16_i32));
DECLARE(NAMES_PAIR(f32_f32));
DECLARE(NAMES_PAIR(f64_f64));

/* simd/reduce_x87.c, which has compiler flags of its own; x86-64 only */
DECLARE(NAMES_ADD(ldouble));
DECLARE(NAMES_ADD(cldouble));
DECLARE(NAMES_ORDER(ldouble));
DECLARE(NAMES_PAIR(ldouble_i32));

#endif /* COLL_PURE_REDUCE_SCALAR_H */
