// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The reference reductions: one element after the other, as reduce.h says, and
 * not a thought about speed. All others are tested against these.
 */
#include "reduce.h"

typedef float f32;
typedef double f64;

/*
 * One operator on one type: @step folds b, which came later, into a; @result is
 * what becomes of a fold of two inputs or more. Elements are copied in and out,
 * because vectors may have any alignment; an element is read from all inputs
 * before it is written, because outputs may be inputs.
 */
#define REDUCE(op, type, step, result)						\
static void op##_##type(void *const *out, unsigned int nr_out,			\
			const void *const *in, unsigned int nr_in, size_t count)\
{										\
	unsigned int k;								\
	size_t i;								\
	type a, b;								\
										\
	for (i = 0; i < count; i++) {						\
		__builtin_memcpy(&a, (const type *)in[0] + i, sizeof(a));	\
		for (k = 1; k < nr_in; k++) {					\
			__builtin_memcpy(&b, (const type *)in[k] + i, sizeof(b));\
			a = step;						\
		}								\
		if (nr_in > 1)							\
			a = result;						\
		for (k = 0; k < nr_out; k++)					\
			__builtin_memcpy((type *)out[k] + i, &a, sizeof(a));	\
	}									\
}

REDUCE(sum, u32, a + b, a)
REDUCE(prod, u32, a * b, a)
REDUCE(min, u32, b < a ? b : a, a)
REDUCE(max, u32, b > a ? b : a, a)
REDUCE(min, s32, b < a ? b : a, a)
REDUCE(max, s32, b > a ? b : a, a)

REDUCE(sum, u64, a + b, a)
REDUCE(prod, u64, a * b, a)
REDUCE(min, u64, b < a ? b : a, a)
REDUCE(max, u64, b > a ? b : a, a)
REDUCE(min, s64, b < a ? b : a, a)
REDUCE(max, s64, b > a ? b : a, a)

/* min and max: a NaN in a is never left, one in b is always taken. */
REDUCE(sum, f32, a + b, a == a ? a : __builtin_nanf(""))
REDUCE(prod, f32, a * b, a == a ? a : __builtin_nanf(""))
REDUCE(min, f32, !(b >= a) && a == a ? b : a, a)
REDUCE(max, f32, !(b <= a) && a == a ? b : a, a)

REDUCE(sum, f64, a + b, a == a ? a : __builtin_nan(""))
REDUCE(prod, f64, a * b, a == a ? a : __builtin_nan(""))
REDUCE(min, f64, !(b >= a) && a == a ? b : a, a)
REDUCE(max, f64, !(b <= a) && a == a ? b : a, a)

#define ROW(arith, order) {			\
	[COLL_OP_SUM]	= sum_##arith,		\
	[COLL_OP_PROD]	= prod_##arith,		\
	[COLL_OP_MIN]	= min_##order,		\
	[COLL_OP_MAX]	= max_##order,		\
}

const struct coll_simd coll_simd_scalar = {
	.name = "scalar",
	.fn = {
		[COLL_I32] = ROW(u32, s32),
		[COLL_U32] = ROW(u32, u32),
		[COLL_I64] = ROW(u64, s64),
		[COLL_U64] = ROW(u64, u64),
		[COLL_F32] = ROW(f32, f32),
		[COLL_F64] = ROW(f64, f64),
	},
};
