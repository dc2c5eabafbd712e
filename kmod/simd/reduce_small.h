/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Vectors of floats of 16 and 8 bits: they are folded as two or four vectors of f32,
 * without any exchange of lanes: from a lane of 32 bits, the lowest element goes to
 * the first vector, the next one to the second, and so on.
 */
#ifndef COLL_SIMD_REDUCE_SMALL_H
#define COLL_SIMD_REDUCE_SMALL_H

#include "reduce_float.h"

/* Lanes of 16 bits: @infinity is followed by the NaNs, of which @nan is the one. */
static coll_always_inline vec one_nan_16(vec v, u32 infinity, u32 nan)
{
	vec magnitude = v & splat32(0x7fff7fff);
	vec is_nan = (vec)((vec_s16)magnitude > (vec_s16)splat32(infinity * 0x10001));

	return select(is_nan, splat32(nan * 0x10001), v);
}

/* bf16 is the upper half of an f32. */
static coll_always_inline void widen_bf16(vec v, vec *a, vec *b)
{
	*a = (vec)((vec_u32)v << 16);
	*b = v & splat32(0xffff0000);
}

/*
 * Round to nearest even: add 0x7fff plus the lowest bit that stays. The caller drops the low 16
 * bits. A NaN stays a NaN: its low 16 bits are 0, so nothing carries into the exponent.
 */
static coll_always_inline vec round_bf16(vec a)
{
	vec odd = (vec)((vec_u32)a >> 16) & splat32(1);

	return (vec)((vec_u32)a + (vec_u32)odd + (vec_u32)splat32(0x7fff));
}

static coll_always_inline vec narrow_bf16(vec a, vec b)
{
	vec low = (vec)((vec_u32)round_bf16(a) >> 16);
	vec high = round_bf16(b) & splat32(0xffff0000);

	return one_nan_16(low | high, 0x7f80, 0x7fc0);
}

/* Numbers that describe the other formats. */
struct format {
	u32 bits;	/* of an element */
	u32 fraction;	/* bits of the fraction */
	u32 bias;	/* of the exponent */
	u32 special;	/* the least magnitude that is no finite number */
	u32 limit;	/* what finite folds, if too large, become */
	u32 infinity;	/* what infinite folds become */
	u32 nan;	/* the one NaN */
};

#ifndef HAVE_F16
static const struct format format_f16 = {
	16, 10, 15, 0x7c00, 0x7c00, 0x7c00, 0x7e00
};
#endif
static const struct format format_e4m3 = { 8, 3, 7, 0x7f, 0x7e, 0x7e, 0x7f };
static const struct format format_e5m2 = { 8, 2, 15, 0x7c, 0x7b, 0x7c, 0x7e };

/*
 * One element in the low bits of each lane, with nothing above, to f32: the exponent
 * gets another bias. That is wrong for NaN and infinity, and for denormals. A denormal x
 * is computed as 2^e + x - 2^e, where e is its exponent.
 */
static coll_always_inline vec widen(const struct format f, vec x)
{
	const u32 shift = 23 - f.fraction, rebias = (127 - f.bias) << 23;
	const vec least = splat32(rebias + (1U << 23));
	vec magnitude = x & splat32((1U << (f.bits - 1)) - 1);
	vec sign = (vec)((vec_u32)(x ^ magnitude) << (32 - f.bits));
	vec wide = (vec)((vec_u32)magnitude << shift);
	vec normal = (vec)((vec_u32)wide + (vec_u32)splat32(rebias));
	vec denormal = (vec)((vec_f32)(vec)((vec_u32)wide + (vec_u32)least) - (vec_f32)least);
	vec is_special = (vec)((vec_s32)magnitude > (vec_s32)splat32(f.special - 1));
	vec is_denormal = (vec)((vec_s32)wide < (vec_s32)splat32(1U << 23));

	return select(is_denormal, denormal, normal) | sign |
	       (is_special & splat32(0x7f800000));
}

/*
 * Back, rounded to nearest even. A normal number gets the bias of its exponent, and half of the
 * last place is added as above. A denormal is rounded by adding the power of two that has the
 * same last place. Both are integers that grow with the number, so that too large a number is
 * larger than the limit.
 */
static coll_always_inline vec narrow(const struct format f, vec x)
{
	const u32 shift = 23 - f.fraction, rebias = (127 - f.bias) << 23;
	const vec magic = splat32((127 + 24 - f.bias - f.fraction) << 23);
	const vec inf = splat32(0x7f800000);
	vec m = x & splat32(0x7fffffff);
	vec sign = (vec)((vec_u32)(x ^ m) >> (32 - f.bits));
	vec odd = (vec)((vec_u32)m >> shift) & splat32(1);
	vec normal = (vec)((vec_u32)m + (vec_u32)odd -
			   (vec_u32)splat32(rebias - (1U << (shift - 1)) + 1));
	vec denormal = (vec)((vec_f32)m + (vec_f32)magic);
	vec is_denormal = (vec)((vec_s32)m < (vec_s32)splat32(rebias + (1U << 23)));
	vec over, r;

	r = select(is_denormal, (vec)((vec_u32)denormal - (vec_u32)magic),
		   (vec)((vec_u32)normal >> shift));
	over = (vec)((vec_s32)r > (vec_s32)splat32(f.limit));
	r = select(over, splat32(f.limit), r);
	if (f.infinity != f.limit)
		r = select((vec)((vec_s32)m == (vec_s32)inf), splat32(f.infinity), r);
	return select((vec)((vec_s32)m > (vec_s32)inf), splat32(f.nan), r | sign);
}

#ifdef HAVE_F16
/* The instructions do not make a NaN the one NaN. */
static coll_always_inline vec narrow_f16(vec a, vec b)
{
	return one_nan_16(narrow_halves(a, b), 0x7c00, 0x7e00);
}
#else
static coll_always_inline void widen_f16(vec v, vec *a, vec *b)
{
	*a = widen(format_f16, v & splat32(0xffff));
	*b = widen(format_f16, (vec)((vec_u32)v >> 16));
}

static coll_always_inline vec narrow_f16(vec a, vec b)
{
	return narrow(format_f16, a) | (vec)((vec_u32)narrow(format_f16, b) << 16);
}
#endif

/* Byte @i of each lane. */
static coll_always_inline vec byte(vec v, u32 i)
{
	return (vec)((vec_u32)v >> 8 * i) & splat32(0xff);
}

/* They are folded as f32 is. The function that narrows them makes a NaN the one NaN. */
#define begin_f16	begin_f32
#define begin_bf16	begin_f32
#define begin_e4m3	begin_f32
#define begin_e5m2	begin_f32
#define step_f16	step_f32
#define step_bf16	step_f32
#define step_e4m3	step_f32
#define step_e5m2	step_f32
#define end_f16		wide_f32
#define end_bf16	wide_f32
#define end_e4m3	wide_f32
#define end_e5m2	wide_f32
#define divisor_f16	splat_f32
#define divisor_bf16	splat_f32
#define divisor_e4m3	splat_f32
#define divisor_e5m2	splat_f32

#endif /* COLL_SIMD_REDUCE_SMALL_H */
