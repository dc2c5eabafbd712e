// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The scalar reference: floats of 16 and 8 bits, which are folded in f32. */
#include "reduce_scalar.h"

/* One format; the magnitude is what is left of an element without its sign. */
struct format {
	unsigned int bits;	/* of an element */
	unsigned int fraction;	/* bits of the fraction */
	int bias;		/* of the exponent */
	u32 largest;		/* magnitude of the largest finite number */
	u32 overflow;		/* what a finite fold beyond that becomes */
	u32 infinity;		/* what an infinite fold becomes */
	u32 nan;		/* the one NaN */
};

static const struct format f16 = { 16, 10, 15, 0x7bff, 0x7c00, 0x7c00, 0x7e00 };
static const struct format bf16 = { 16, 7, 127, 0x7f7f, 0x7f80, 0x7f80, 0x7fc0 };
static const struct format e4m3 = { 8, 3, 7, 0x7e, 0x7e, 0x7e, 0x7f };
static const struct format e5m2 = { 8, 2, 15, 0x7b, 0x7b, 0x7c, 0x7e };

/* 2^e, -149 <= e <= 127: below -126 it is a denormal */
static f32 power(int e)
{
	u32 bits = e < -126 ? 1U << (e + 149) : (u32)(e + 127) << 23;
	f32 f;

	__builtin_memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Exact. A number is its integer significand times a power of two. */
static f32 widen(const struct format *f, u32 x)
{
	u32 sign = x >> (f->bits - 1), magnitude = x & ~(~0U << (f->bits - 1));
	u32 significand = magnitude & ~(~0U << f->fraction);
	int exponent = magnitude >> f->fraction;
	f32 value;

	if (magnitude > f->largest) {
		value = f->infinity > f->largest && magnitude == f->infinity ?
			__builtin_inff() : __builtin_nanf("");
	} else {
		if (exponent)
			significand |= 1U << f->fraction;
		else
			exponent = 1;	/* denormals have that of the smallest normal */
		value = (f32)significand;
		exponent -= f->bias + (int)f->fraction;
		/* what is below the range of power() takes two steps */
		if (exponent < -126) {
			value *= power(-126);
			exponent += 126;
		}
		value *= power(exponent);
	}
	return sign ? -value : value;
}

/* @x shifted right, rounded to nearest, ties to even */
static u32 shift_rounded(u32 x, unsigned int shift)
{
	u32 half = 1U << (shift - 1), rest = x & ~(~0U << shift);

	x >>= shift;
	return x + (rest > half || (rest == half && (x & 1)));
}

/*
 * The significand is shifted to that of the format. If it rounds up to the next power
 * of two, the carry adds 1 to the exponent, as it should. A shift by more than 24 bits
 * gives 0: the number is less than half of the smallest denormal.
 */
static u32 narrow(const struct format *f, f32 value)
{
	u32 x, sign, significand, magnitude;
	int exponent, shift = 23 - f->fraction;

	__builtin_memcpy(&x, &value, sizeof(x));
	sign = x >> 31 << (f->bits - 1);
	x &= 0x7fffffff;
	if (x > 0x7f800000)
		return f->nan;
	if (x == 0x7f800000)
		return sign | f->infinity;

	exponent = x >> 23;
	significand = x & 0x7fffff;
	if (exponent)
		significand |= 0x800000;
	else
		exponent = 1;
	exponent += f->bias - 127;	/* now as the format has it */
	if (exponent < 1) {
		shift += 1 - exponent;
		exponent = 1;
	}
	magnitude = shift > 25 ? 0 : shift_rounded(significand, shift);
	magnitude += (u32)(exponent - 1) << f->fraction;
	return sign | (magnitude > f->largest ? f->overflow : magnitude);
}

COLL_FOLD_NATIVE(f32, f32)

/* @type: the format, @word: unsigned integer of its size */
#define SMALL(type, word, bits)							\
typedef f32 acc_##type;								\
										\
static f32 get_##type(const void *v, size_t i)					\
{										\
	word x;									\
										\
	__builtin_memcpy(&x, (const u8 *)v + i * sizeof(x), sizeof(x));		\
	return widen(&type, x);							\
}										\
										\
static void put_##type(void *v, size_t i, f32 value)				\
{										\
	word x = narrow(&type, value);						\
										\
	__builtin_memcpy((u8 *)v + i * sizeof(x), &x, sizeof(x));		\
}										\
										\
COLL_FOLD_ORDER(type)								\
COLL_FOLD(sum, type, bits, a + b, a)						\
COLL_FOLD(prod, type, bits, a * b, a)						\
COLL_FOLD(min, type, bits, min_##type(a, b), a)					\
COLL_FOLD(max, type, bits, max_##type(a, b), a)					\
COLL_FOLD_AVG(type, a + b, a / (f32)n)						\
COLL_FOLD_SCALED(type, b * s, a + b, a)						\
COLL_CONVERT(type, f32)

SMALL(f16, u16, b16)
SMALL(bf16, u16, b16)
SMALL(e4m3, u8, b8)
SMALL(e5m2, u8, b8)
