/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Vectors of pairs: a lane of 64 bits has the value in its low half, the index in the
 * high one; a lane of 128 bits is the same. A comparison covers both halves, as if both had
 * the same type. Only its result for the half that has this type is used.
 */
#ifndef COLL_SIMD_REDUCE_PAIR_H
#define COLL_SIMD_REDUCE_PAIR_H

#include "reduce_float.h"

/* Lanes where b is less than a; of floats, also where only b is a NaN. */
#define LESS_INT(type, a, b)	((vec)((type)(b) < (type)(a)))
#define MORE_INT(type, a, b)	((vec)((type)(b) > (type)(a)))
#define ONLY_NAN(type, a, b)	\
	((vec)((type)(b) != (type)(b)) & (vec)((type)(a) == (type)(a)))
#define LESS_FLOAT(type, a, b)	(LESS_INT(type, a, b) | ONLY_NAN(type, a, b))
#define MORE_FLOAT(type, a, b)	(MORE_INT(type, a, b) | ONLY_NAN(type, a, b))

/*
 * b is taken if its value wins, or if that of a does not and its index is less.
 * @value: type of values; @index: type of indices; @low, @high: copy a half to both halves
 */
#define STEP_PAIR(name, kind, value, index, low, high)				\
static coll_always_inline vec name(u32 op, vec a, vec b)			\
{										\
	vec wins, loses, before = high(LESS_INT(index, a, b));			\
										\
	if (op == COLL_OP_MINLOC) {						\
		wins = LESS_##kind(value, a, b);				\
		loses = LESS_##kind(value, b, a);				\
	} else {								\
		wins = MORE_##kind(value, a, b);				\
		loses = MORE_##kind(value, b, a);				\
	}									\
	return select(low(wins) | (before & ~low(loses)), b, a);		\
}

/* In 128 bits an index of 32 bits is the third of four lanes. */
#define THIRD32(v)	SHUFFLE32(v, 2, 2, 2, 2)

STEP_PAIR(step_f32_i32, FLOAT, vec_f32, vec_s32, EVEN32, ODD32)
STEP_PAIR(step_f32_f32, FLOAT, vec_f32, vec_f32, EVEN32, ODD32)
STEP_PAIR(step_i32_i32, INT, vec_s32, vec_s32, EVEN32, ODD32)
STEP_PAIR(step_f64_i32, FLOAT, vec_f64, vec_s32, EVEN64, THIRD32)
STEP_PAIR(step_f64_f64, FLOAT, vec_f64, vec_f64, EVEN64, ODD64)
STEP_PAIR(step_i64_i32, INT, vec_s64, vec_s32, EVEN64, THIRD32)

/* i16 and what pads it are folded as i32. */
#define step_i16_i32	step_i32_i32

static coll_always_inline vec begin_i16_i32(u32 op, vec v)
{
	vec value = (vec)((vec_s32)(vec)((vec_u32)v << 16) >> 16);

	return select(splat64(0xffffffff), value, v);
}

static coll_always_inline vec as_is(u32 op, vec v)
{
	return v;
}

#define begin_f32_i32	as_is
#define begin_f64_i32	as_is
#define begin_i64_i32	as_is
#define begin_i32_i32	as_is
#define begin_f32_f32	as_is
#define begin_f64_f64	as_is

/* All ones where there is no padding. */
static coll_always_inline vec used_b16_b32(void)
{
	return splat64(0xffffffff0000ffffULL);
}

static coll_always_inline vec used_b64_b32(void)
{
	return low64() | splat64(0xffffffff);
}

#define KIND_PAIR(kind, result)							\
static coll_always_inline vec end_##kind(u32 op, vec v, vec unused)		\
{										\
	return result;								\
}

KIND_PAIR(f32_i32, select(splat64(0xffffffff), one_nan_f32(v), v))
KIND_PAIR(f32_f32, select(splat64(0xffffffff), one_nan_f32(v), v))
KIND_PAIR(f64_i32, select(low64(), one_nan_f64(v), v) & used_b64_b32())
KIND_PAIR(f64_f64, select(low64(), one_nan_f64(v), v))
KIND_PAIR(i64_i32, v & used_b64_b32())
KIND_PAIR(i32_i32, v)
KIND_PAIR(i16_i32, v & used_b16_b32())

#endif /* COLL_SIMD_REDUCE_PAIR_H */
