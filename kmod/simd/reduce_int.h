/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Vectors of integers: how they are folded. */
#ifndef COLL_SIMD_REDUCE_INT_H
#define COLL_SIMD_REDUCE_INT_H

#include "reduce_builtin.h"

/*
 * Fold @b, which came later, into @a. Arithmetic is unsigned; truth values are all
 * ones or zero while they are folded.
 */
#define STEP_INT(name, type, arith)						\
static coll_always_inline vec name(u32 op, vec a, vec b)			\
{										\
	switch (op) {								\
	case COLL_OP_PROD:							\
		return (vec)((arith)a * (arith)b);				\
	case COLL_OP_MIN:							\
		return MIN_OF(type, a, b);					\
	case COLL_OP_MAX:							\
		return MAX_OF(type, a, b);					\
	case COLL_OP_LAND:							\
	case COLL_OP_BAND:							\
		return a & b;							\
	case COLL_OP_LOR:							\
	case COLL_OP_BOR:							\
		return a | b;							\
	case COLL_OP_LXOR:							\
	case COLL_OP_BXOR:							\
		return a ^ b;							\
	default:								\
		return (vec)((arith)a + (arith)b);				\
	}									\
}

static coll_always_inline bool is_logical(u32 op)
{
	return op == COLL_OP_LAND || op == COLL_OP_LOR || op == COLL_OP_LXOR;
}

/* All ones in the lanes of @size bytes that are not zero. */
static coll_always_inline vec truth(size_t size, vec v)
{
	switch (size) {
	case 1:
		return (vec)((vec_u8)v != (vec_u8)splat64(0));
	case 2:
		return (vec)((vec_u16)v != (vec_u16)splat64(0));
	case 4:
		return (vec)((vec_u32)v != (vec_u32)splat64(0));
	default:
		return (vec)(v != splat64(0));
	}
}

/* 1 in each lane of @size bytes. */
static coll_always_inline vec ones(size_t size)
{
	return splat64(~0ULL / (~0ULL >> (64 - 8 * size)));
}

/*
 * Quotients of lanes x < 2^16 by d <= 2^20, in f32, truncated. That is exact: if n
 * is the next integer above x/d, n - x/d >= 1/d >= n/(x + d) > n/2^21, and rounding
 * to 24 bits does not get up to n. x | 2^23 is the float 2^23 + x; and adding 2^23
 * to a quotient rounds it to an integer, which is one too large if it went up.
 */
static coll_always_inline vec divide32(vec x, vec d)
{
	const vec magic = splat32(0x4b000000);
	vec_f32 q = ((vec_f32)(x | magic) - (vec_f32)magic) / (vec_f32)d;
	vec_f32 rounded = q + (vec_f32)magic;
	vec up = (vec)(rounded - (vec_f32)magic > q);

	return (vec)((vec_u32)(vec)rounded - (vec_u32)magic + (vec_u32)up);
}

/*
 * As divide32(), for lanes x < 2^32 in f64: here n/(x + d) > n/2^33, and rounding is to 53 bits.
 */
static coll_always_inline vec divide64(vec x, vec d)
{
	const vec magic = splat64(0x4330000000000000ULL);
	vec_f64 q = ((vec_f64)(x | magic) - (vec_f64)magic) / (vec_f64)d;
	vec_f64 rounded = q + (vec_f64)magic;
	vec up = (vec)(rounded - (vec_f64)magic > q);

	return (vec)rounded - magic + up;
}

/* Lanes of @size bytes, unsigned, 4 at most: in wider lanes, one after the other. */
static coll_always_inline vec divide_unsigned(size_t size, vec a, vec d)
{
	const vec low = splat32(0xff);

	if (size == 4)
		return divide64(a & splat64(0xffffffff), d) | divide64(a >> 32, d) << 32;
	if (size == 2)
		return divide32(a & splat32(0xffff), d) |
		       divide32((vec)((vec_u32)a >> 16), d) << 16;
	return divide32(a & low, d) |
	       divide32((vec)((vec_u32)a >> 8) & low, d) << 8 |
	       divide32((vec)((vec_u32)a >> 16) & low, d) << 16 |
	       divide32((vec)((vec_u32)a >> 24), d) << 24;
}

/* There is no such instruction on vectors: one after the other. */
#define DIVIDE64(name, type)							\
static coll_always_inline vec name(vec a, vec d)				\
{										\
	type x[VEC_BYTES / 8], divisor = (type)LANE(d, 0);			\
	unsigned int i;								\
										\
	__builtin_memcpy(x, &a, sizeof(a));					\
	for (i = 0; i < VEC_BYTES / 8; i++)					\
		x[i] /= divisor;						\
	__builtin_memcpy(&a, x, sizeof(a));					\
	return a;								\
}

DIVIDE64(divide_u64, u64)
DIVIDE64(divide_s64, s64)

/* Truncated towards zero: the magnitude is divided, and gets its sign again. */
#define DIVIDE_SIGNED(name, type, arith, size)					\
static coll_always_inline vec name(vec a, vec d)				\
{										\
	vec sign = (vec)((type)a < (type)splat64(0));				\
	vec q = divide_unsigned(size, (vec)((arith)(a ^ sign) - (arith)sign), d);\
										\
	return (vec)((arith)(q ^ sign) - (arith)sign);				\
}

DIVIDE_SIGNED(divide_s8, vec_s8, vec_u8, 1)
DIVIDE_SIGNED(divide_s16, vec_s16, vec_u16, 2)
DIVIDE_SIGNED(divide_s32, vec_s32, vec_u32, 4)

/*
 * The functions of a kind for the sweep: how each input begins, how it is folded, how the fold
 * ends, and the divisor as end_ takes it, a number of the type of the division.
 */
#define KIND_INT(kind, type, arith, size, divide, divisor)			\
STEP_INT(step_##kind, type, arith)						\
										\
static coll_always_inline vec begin_##kind(u32 op, vec v)			\
{										\
	return is_logical(op) ? truth(size, v) : v;				\
}										\
										\
static coll_always_inline vec end_##kind(u32 op, vec v, vec d)			\
{										\
	if (is_logical(op))							\
		return v & ones(size);						\
	return op == COLL_OP_AVG ? divide : v;					\
}										\
										\
static coll_always_inline vec divisor_##kind(u32 n)				\
{										\
	return divisor;								\
}

KIND_INT(u8, vec_u8, vec_u8, 1, divide_unsigned(1, v, d), splat_f32(n))
KIND_INT(s8, vec_s8, vec_u8, 1, divide_s8(v, d), splat_f32(n))
KIND_INT(u16, vec_u16, vec_u16, 2, divide_unsigned(2, v, d), splat_f32(n))
KIND_INT(s16, vec_s16, vec_u16, 2, divide_s16(v, d), splat_f32(n))
KIND_INT(u32, vec_u32, vec_u32, 4, divide_unsigned(4, v, d), splat_f64(n))
KIND_INT(s32, vec_s32, vec_u32, 4, divide_s32(v, d), splat_f64(n))
KIND_INT(u64, vec_u64, vec_u64, 8, divide_u64(v, d), splat64(n))
KIND_INT(s64, vec_s64, vec_u64, 8, divide_s64(v, d), splat64(n))

#endif /* COLL_SIMD_REDUCE_INT_H */
