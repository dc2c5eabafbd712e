// SPDX-License-Identifier: GPL-2.0
/* Floats of every kind by definition: exact integers, rounded by hand. */
#include <stdlib.h>

#include "ref.h"

/* The types as their standards have them: digits, exponent, unit, top, largest. */
static const struct ref_format f16 = { 11, 5, -24, 15, 0x7bff, true };
static const struct ref_format bf16 = { 8, 8, -133, 127, 0x7f7f, true };
static const struct ref_format f8e4m3 = { 4, 4, -9, 8, 0x7e, false };
static const struct ref_format f8e5m2 = { 3, 5, -16, 15, 0x7b, true };
static const struct ref_format f32 = { 24, 8, -149, 127, 0x7f7fffff, true };
static const struct ref_format f64 = { 53, 11, -1074, 1023, 0x7fefffffffffffff, true };
static const struct ref_format ldouble = { 64, 15, -16445, 16383, 0, true };

const struct ref_format *ref_format(u32 kind)
{
	switch (kind) {
	case COLL_F16:
		return &f16;
	case COLL_BF16:
		return &bf16;
	case COLL_F8E4M3:
		return &f8e4m3;
	case COLL_F8E5M2:
		return &f8e5m2;
	case COLL_F32:
		return &f32;
	case COLL_F64:
		return &f64;
	case COLL_LDOUBLE:
		return &ldouble;
	}
	abort();
}

static int length(u128 m)
{
	u64 high = m >> 64, low = m;

	return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/*
 * The nearest number of the format, of two the one whose last digit is even; more:
 * the true value lies beyond m, by less than one. Then m must be much longer than
 * the format. The exponent may become as large as it likes.
 */
static struct ref_num nearest(const struct ref_format *f, struct ref_num x, bool more)
{
	int drop = length(x.m) - f->digits;
	u128 rest, half;

	if (drop < f->unit - x.e)
		drop = f->unit - x.e;
	if (drop <= 0)
		return x;
	x.e += drop;
	if (drop > 128) {
		x.m = 0;	/* less than half of the least digit */
		return x;
	}
	half = (u128)1 << (drop - 1);
	rest = x.m & (half - 1 + half);
	x.m = drop < 128 ? x.m >> drop : 0;
	if (rest > half || (rest == half && (more || (x.m & 1))))
		x.m++;
	if (length(x.m) > f->digits) {
		x.m >>= 1;	/* was all ones */
		x.e++;
	}
	return x;
}

/* Beyond the largest: infinite. */
static struct ref_num bounded(const struct ref_format *f, struct ref_num x)
{
	if (x.m && length(x.m) - 1 + x.e > f->top)
		x.inf = true;
	return x;
}

static struct ref_num nan_num(void)
{
	return (struct ref_num){ .nan = true };
}

/* --- encodings ---------------------------------------------------------------- */

/* The 80-bit type shows its first digit, and has patterns that mean nothing. */
static struct ref_num decode_ldouble(const u8 *p)
{
	struct ref_num x = {};
	u64 m;
	u16 top;

	memcpy(&m, p, 8);
	memcpy(&top, p + 8, 2);
	x.neg = top >> 15;
	top &= 0x7fff;
	if (top == 0x7fff) {
		x.inf = m == 1ULL << 63;
		x.nan = !x.inf;
		return x;
	}
	x.nan = top && !(m >> 63);
	x.m = m;
	x.e = (top ? top : 1) - 16383 - 63;
	return x;
}

struct ref_num ref_decode(u32 kind, const u8 *p)
{
	const struct ref_format *f = ref_format(kind);
	u32 bytes = ref_kind_bytes(kind), fraction = f->digits - 1;
	struct ref_num x = {};
	u64 v = 0, exponent;

	if (kind == COLL_LDOUBLE)
		return decode_ldouble(p);
	memcpy(&v, p, bytes);
	x.neg = v >> (8 * bytes - 1);
	v &= ~(1ULL << (8 * bytes - 1));
	if (v > f->largest) {
		x.inf = f->infinities && v == f->largest + 1;
		x.nan = !x.inf;
		return x;
	}
	exponent = v >> fraction;
	x.m = v & ((1ULL << fraction) - 1);
	x.e = f->unit;
	if (exponent) {
		x.m |= 1ULL << fraction;
		x.e += exponent - 1;
	}
	return x;
}

/* Make x.m as long as the format has it, or shorter for denormals. Return: biased exponent. */
static u64 biased(const struct ref_format *f, struct ref_num *x)
{
	while (x->m && length(x->m) < f->digits && x->e > f->unit) {
		x->m <<= 1;
		x->e--;
	}
	while (length(x->m) > f->digits || (x->m && x->e < f->unit)) {
		x->m >>= 1;	/* only zeroes: the number is of the format */
		x->e++;
	}
	return length(x->m) == f->digits ? x->e - f->unit + 1 : 0;
}

static void encode_ldouble(struct ref_num x, u8 *p)
{
	u64 m = 1ULL << 63;
	u16 top = 0x7fff;

	if (x.nan) {
		m = 3ULL << 62;
	} else if (!x.inf) {
		top = biased(&ldouble, &x);
		m = x.m;
	}
	top |= x.nan ? 0 : x.neg << 15;
	memcpy(p, &m, 8);
	memcpy(p + 8, &top, 2);
}

/* Encode a number of the kind or of a wider one. It is rounded to the kind here. */
void ref_encode(u32 kind, struct ref_num x, u8 *p)
{
	const struct ref_format *f = ref_format(kind);
	u32 bytes = ref_kind_bytes(kind);
	bool finite = !x.nan && !x.inf;
	u64 v;

	if (finite)
		x = bounded(f, nearest(f, x, false));
	if (kind == COLL_LDOUBLE) {
		encode_ldouble(x, p);
		return;
	}
	if (x.nan) {
		/* quiet: the first digit behind the point; e4m3 has only one NaN */
		v = f->infinities ? f->largest + 1 + (1ULL << (f->digits - 2)) : 0x7f;
		x.neg = false;
	} else if (x.inf) {
		v = f->infinities ? f->largest + 1 : f->largest;
		if (finite && kind == COLL_F8E5M2)
			v = f->largest;
	} else {
		v = biased(f, &x) << (f->digits - 1);
		v |= x.m & ((1ULL << (f->digits - 1)) - 1);
		/* e4m3: the last pattern of the last exponent is NaN */
		if (v > f->largest)
			v = f->largest;
	}
	v |= (u64)x.neg << (8 * bytes - 1);
	memcpy(p, &v, bytes);
}

/* --- arithmetic --------------------------------------------------------------- */

static struct ref_num swap_add(const struct ref_format *f, struct ref_num a, struct ref_num b)
{
	int up = 126 - length(a.m), down;
	bool more = false;

	/* a reaches higher: shift it up, so that the bits that b loses are far below its end */
	a.m <<= up;
	a.e -= up;
	down = a.e - b.e;
	if (down <= 0) {
		b.m <<= -down;
	} else if (down >= 128) {
		more = b.m != 0;
		b.m = 0;
	} else {
		more = b.m & (((u128)1 << down) - 1);
		b.m >>= down;
	}
	if (a.neg == b.neg) {
		a.m += b.m;
	} else if (a.m >= b.m + more) {
		a.m -= b.m + more;
	} else {
		a.m = b.m - a.m;
		a.neg = b.neg;
	}
	if (!a.m)
		return (struct ref_num){};	/* x - x is +0 */
	return bounded(f, nearest(f, a, more));
}

struct ref_num ref_add(const struct ref_format *f, struct ref_num a, struct ref_num b)
{
	if (a.nan || b.nan || (a.inf && b.inf && a.neg != b.neg))
		return nan_num();
	if (a.inf || b.inf)
		return a.inf ? a : b;
	if (!a.m && !b.m)
		return (struct ref_num){ .neg = a.neg && b.neg };
	if (!a.m || !b.m)
		return a.m ? a : b;
	if (length(a.m) + a.e < length(b.m) + b.e)
		return swap_add(f, b, a);
	return swap_add(f, a, b);
}

struct ref_num ref_mul(const struct ref_format *f, struct ref_num a, struct ref_num b)
{
	struct ref_num x = { .neg = a.neg != b.neg };
	bool zero = (!a.inf && !a.m) || (!b.inf && !b.m);

	if (a.nan || b.nan || ((a.inf || b.inf) && zero))
		return nan_num();
	x.inf = a.inf || b.inf;
	if (x.inf || zero)
		return x;
	x.m = (u128)(u64)a.m * (u64)b.m;
	x.e = a.e + b.e;
	return bounded(f, nearest(f, x, false));
}

struct ref_num ref_div(const struct ref_format *f, struct ref_num a, u32 divisor)
{
	bool more;
	int up;

	if (a.nan)
		return nan_num();
	if (a.inf || !a.m)
		return a;
	up = 128 - length(a.m);
	a.m <<= up;
	a.e -= up;
	more = a.m % divisor;
	a.m /= divisor;
	return bounded(f, nearest(f, a, more));
}

static int compare_magnitude(struct ref_num a, struct ref_num b)
{
	int high = length(a.m) + a.e, other = length(b.m) + b.e;

	if (a.inf || b.inf)
		return a.inf - b.inf;
	if (!a.m || !b.m)
		return (a.m != 0) - (b.m != 0);
	if (high != other)
		return high > other ? 1 : -1;
	a.m <<= 128 - length(a.m);
	b.m <<= 128 - length(b.m);
	return (a.m > b.m) - (a.m < b.m);
}

int ref_compare(struct ref_num a, struct ref_num b)
{
	bool a_neg = a.neg && (a.m || a.inf), b_neg = b.neg && (b.m || b.inf);

	if (a_neg != b_neg)
		return a_neg ? -1 : 1;
	return a_neg ? -compare_magnitude(a, b) : compare_magnitude(a, b);
}
