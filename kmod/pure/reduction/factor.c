// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/coll.h>

#include "factor.h"

#define F64_FRACTION	52
#define F64_BIAS	1023
#define F64_SPECIAL	2047
#define F32_FRACTION	23
#define F32_BIAS	127
#define F32_SPECIAL	255
/* Results that are rounded at a time; on the stack. */
#define STRETCH		128

/* @x / 2^@n, rounded to nearest even; @n is 1 to 63. */
static u64 round_shift(u64 x, u32 n)
{
	u64 half = 1ULL << (n - 1), rest = x & ((1ULL << n) - 1);

	x >>= n;
	return x + (rest > half || (rest == half && x & 1));
}

/* Convert @f64, which is finite and normal, without its sign. 0: too small. Infinity: too large. */
static u32 to_f32(u64 f64)
{
	u64 fraction = (f64 & ((1ULL << F64_FRACTION) - 1)) | 1ULL << F64_FRACTION;
	int exponent = (int)(f64 >> F64_FRACTION & F64_SPECIAL) - F64_BIAS + F32_BIAS;
	u32 shift = F64_FRACTION - F32_FRACTION;

	if (exponent >= F32_SPECIAL)
		return (u32)F32_SPECIAL << F32_FRACTION;
	if (exponent < -F32_FRACTION)
		return 0;
	/* The result is a denormal f32: it has fewer bits. */
	if (exponent < 1)
		return round_shift(fraction, shift + 1 - exponent);
	/* The leading bit counts as one of the exponent, and so does a carry. */
	return ((u32)(exponent - 1) << F32_FRACTION) + (u32)round_shift(fraction, shift);
}

bool coll_factor(u32 dtype, u64 f64, u64 *elem)
{
	u32 exponent = f64 >> F64_FRACTION & F64_SPECIAL, f32;

	if (exponent == F64_SPECIAL || !(f64 << 1))
		return false;
	*elem = f64;
	if (dtype == COLL_F64)
		return true;
	/* A denormal f64 is 0 as f32. */
	f32 = exponent ? to_f32(f64) : 0;
	*elem = f32 | (f64 >> 63) << 31;
	return f32 && f32 >> F32_FRACTION != F32_SPECIAL;
}

/* f32 to a type of 16 bits and back, a stretch at a time. */
static void round_results(const struct coll_after *a, void *const *out, unsigned int nr_out,
			  size_t count)
{
	u16 stretch[STRETCH];
	void *small = stretch, *to;
	const void *from;
	size_t at, n;
	unsigned int i;

	for (at = 0; at < count; at += n) {
		n = count - at < STRETCH ? count - at : STRETCH;
		from = (const u8 *)out[0] + at * sizeof(u32);
		a->narrow(&small, 1, &from, 1, n, NULL);
		from = stretch;
		for (i = 0; i < nr_out; i++) {
			to = (u8 *)out[i] + at * sizeof(u32);
			a->widen(&to, 1, &from, 1, n, NULL);
		}
	}
}

void coll_after_run(const struct coll_after *a, void *const *out, unsigned int nr_out,
		    size_t count)
{
	const struct coll_reduce_arg arg = { .divisor = a->divisor, .scale = &a->factor };
	const void *in = out[0];

	if (a->divide)
		a->divide(out, nr_out, &in, 1, count, &arg);
	if (a->scale)
		a->scale(out, nr_out, &in, 1, count, &arg);
	if (a->narrow)
		round_results(a, out, nr_out, count);
}
