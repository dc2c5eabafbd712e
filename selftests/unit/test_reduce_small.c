// SPDX-License-Identifier: GPL-2.0
/*
 * Small floats exhaustively. 8 bits: all pairs. 16 bits: all values with some hundred partners,
 * all special ones and one or more of every binade and sign among them; there a result is right
 * if the exact value lies between the middles to its two neighbours. The scalar set is checked
 * this way, and the others must give the same bits.
 */
#include <math.h>

#include "reduce_test.h"

#define ALL		65536U
#define SIGN		0x8000U
/* of 2 signs, 256 exponents at most, and the special ones */
#define MAX_PARTNERS	1024

static const u32 ops[] = { COLL_OP_SUM, COLL_OP_PROD, COLL_OP_MIN, COLL_OP_MAX };

static bool bad[MAX_SETS];

/* --- 8 bits ------------------------------------------------------------------- */

static u8 every[2][ALL];	/* all pairs of bytes */

static void check_bytes(u32 kind, u32 op, u32 nr, u32 divisor)
{
	static u8 want[ALL], got[ALL];
	const struct coll_reduce_arg arg = { .divisor = divisor };
	const void *in[2] = { every[0], every[1] };
	const u8 *elem[2];
	void *out[1] = { got };
	u32 i, k;

	for (i = 0; i < ALL; i++) {
		elem[0] = &every[0][i];
		elem[1] = &every[1][i];
		ref_fold(kind, op, elem, nr, &arg, &want[i]);
	}
	for (k = 0; k < nr_sets; k++) {
		if (!sets[k]->fn[kind][op])
			continue;
		sets[k]->fn[kind][op](out, 1, in, nr, ALL, &arg);
		nr_checked += ALL;
		for (i = 0; i < ALL && got[i] == want[i]; i++)
			;
		if (i == ALL || bad[k])
			continue;
		bad[k] = true;
		elem[0] = &every[0][i];
		elem[1] = &every[1][i];
		show_failure(sets[k], op, kind, elem, nr, &arg, &got[i], &want[i]);
	}
}

/* Every factor times every value, added to nothing. */
static void check_byte_factors(u32 kind)
{
	const struct coll_reduce_arg arg = { .scale = (const u64[]){ 0 } };
	struct coll_reduce_arg a = arg;
	const void *in[1];
	u8 want[256], got[256];
	const u8 *elem[1];
	void *out[1] = { got };
	u32 i, k, f;
	u64 factor;

	for (f = 0; f < 256; f++) {
		factor = f | tap_random(&rnd) << 8;
		a.scale = &factor;
		in[0] = every[1] + f;	/* any 256 bytes: a rotation of all values */
		for (i = 0; i < 256; i++) {
			elem[0] = (const u8 *)in[0] + i;
			ref_fold(kind, COLL_OP_PREMULSUM, elem, 1, &a, &want[i]);
		}
		for (k = 0; k < nr_sets; k++) {
			if (!sets[k]->fn[kind][COLL_OP_PREMULSUM])
				continue;
			sets[k]->fn[kind][COLL_OP_PREMULSUM](out, 1, in, 1, 256, &a);
			nr_checked += 256;
			bad[k] |= memcmp(got, want, 256);
		}
	}
}

static void report(u32 kind, const char *what)
{
	u32 k;

	for (k = 0; k < nr_sets; k++)
		tap_ok(!bad[k], "%s: %s %s", sets[k]->name, coll_dtype_name(kind), what);
	memset(bad, 0, sizeof(bad));
}

static void test_8bit(u32 kind)
{
	static const u32 divisors[] = { 1, 2, 3, 5, 7, 64, 1 << 20 };
	u32 i;

	for (i = 0; i < COUNT(ops); i++)
		check_bytes(kind, ops[i], 2, 1);
	for (i = 0; i < COUNT(divisors); i++) {
		check_bytes(kind, COLL_OP_AVG, 1, divisors[i]);
		check_bytes(kind, COLL_OP_AVG, 2, divisors[i]);
	}
	check_byte_factors(kind);
	report(kind, "all pairs");
}

/* --- 16 bits ------------------------------------------------------------------ */

/* By encoding: the value, and the range of what is rounded to its magnitude. */
static double value[ALL], low[SIGN], high[SIGN];
static u32 end;			/* magnitude of infinity; beyond are NaNs */
static u16 quiet_nan;

static void make_tables(u32 kind)
{
	const struct ref_format *f = ref_format(kind);
	struct ref_num x;
	u32 i;
	u16 v;

	end = f->largest + 1;
	ref_encode(kind, (struct ref_num){ .nan = true }, (u8 *)&quiet_nan);
	for (i = 0; i < ALL; i++) {
		v = i;
		x = ref_decode(kind, (u8 *)&v);
		value[i] = x.nan ? NAN : ldexp((double)(u64)x.m, x.e) * (x.neg ? -1 : 1);
	}
	/* infinity stands where the next number would */
	value[end] = ldexp(1, f->top + 1);
	for (i = 0; i <= end; i++) {
		low[i] = i ? (value[i - 1] + value[i]) / 2 : 0;
		high[i] = i < end ? (value[i] + value[i + 1]) / 2 : INFINITY;
	}
	value[end] = INFINITY;
	value[end | SIGN] = -INFINITY;
}

/* Is v what x, a float, is rounded to? */
static bool rounds_to(double x, u16 v)
{
	u32 m = v & ~SIGN;

	if (isnan(x))
		return v == quiet_nan;
	if (m > end || !!signbit(x) != v >> 15)
		return false;
	x = fabs(x);
	return v & 1 ? x > low[m] && x < high[m] : x >= low[m] && x <= high[m];
}

static u16 order(u32 op, u16 a, u16 b)
{
	bool less = value[a] < value[b];

	if (isnan(value[a]) || isnan(value[b]))
		return quiet_nan;
	if (value[a] == value[b])	/* the same, or zeroes */
		return op == COLL_OP_MIN ? a | b : a & b;
	return less == (op == COLL_OP_MIN) ? a : b;
}

/*
 * A double has more than twice the digits of a float and two: what is rounded to
 * it first and then to a float is as if rounded once (Figueroa, "When is double
 * rounding innocuous?", 1995).
 */
static bool is_right(u32 op, u16 a, u16 b, u16 got)
{
	switch (op) {
	case COLL_OP_SUM:
		return rounds_to((float)(value[a] + value[b]), got);
	case COLL_OP_PROD:
	case COLL_OP_PREMULSUM:
		return rounds_to((float)(value[a] * value[b]), got);
	}
	return order(op, a, b) == got;
}

static u16 all[ALL], others[ALL], first[ALL], got[ALL];

static void check_scalar(u32 kind, u32 op, u16 partner)
{
	u32 i;

	for (i = 0; i < ALL && is_right(op, i, partner, first[i]); i++)
		;
	if (i == ALL)
		return;
	if (!bad[0])
		printf("# %s %s: %04x, %04x give %04x\n", coll_dtype_name(kind),
		       coll_op_name(op), i, partner, first[i]);
	bad[0] = true;
}

/* All values with one partner, which comes second or first. */
static void check_partner(u32 kind, u32 op, u16 partner, bool swap)
{
	const void *in[2] = { swap ? others : all, swap ? all : others };
	u64 factor = partner | tap_random(&rnd) << 16;
	const struct coll_reduce_arg arg = { .scale = &factor };
	bool scaled = op == COLL_OP_PREMULSUM;
	void *out[1] = { first };
	u32 i, k;

	for (i = 0; i < ALL; i++)
		others[i] = partner;
	if (scaled)
		in[0] = all;
	for (k = 0; k < nr_sets; k++) {
		if (!sets[k]->fn[kind][op])
			continue;
		sets[k]->fn[kind][op](out, 1, in, scaled ? 1 : 2, ALL, &arg);
		nr_checked += ALL;
		if (!k)
			check_scalar(kind, op, partner);
		else if (memcmp(first, got, sizeof(got)) && !bad[k])
			bad[k] = printf("# %s: %s %s with %04x\n", sets[k]->name,
					coll_dtype_name(kind), coll_op_name(op), partner);
		out[0] = got;
	}
}

/* Every sign and exponent, with any fractions; and the special ones. */
static u32 make_partners(u32 kind, u16 *partner)
{
	u32 fraction = ref_format(kind)->digits - 1, nr = 0, i, k;

	for (i = 0; i < ALL >> fraction; i++) {
		for (k = 0; k < (kind == COLL_F16 ? 4 : 1); k++)
			partner[nr++] = i << fraction |
					tap_random(&rnd) >> (64 - fraction);
	}
	for (i = 0; i < nr_special(kind); i++)
		special(kind, i, (u8 *)&partner[nr++]);
	return nr;
}

static void test_16bit(u32 kind)
{
	static u16 partner[MAX_PARTNERS];
	u32 nr = make_partners(kind, partner), step = SANITIZED ? 16 : 100 / volume(100);
	u32 i, k;

	make_tables(kind);
	for (i = 0; i < nr; i += step) {
		for (k = 0; k < COUNT(ops); k++)
			check_partner(kind, ops[k], partner[i], i & 1);
		check_partner(kind, COLL_OP_PREMULSUM, partner[i], false);
	}
	printf("# %s: %u partners\n", coll_dtype_name(kind), (nr + step - 1) / step);
	report(kind, "all values");
}

int main(void)
{
	u32 i;

	rnd = tap_seed();
	find_sets();
	for (i = 0; i < ALL; i++) {
		every[0][i] = i >> 8;
		every[1][i] = i;
		all[i] = i;
	}
	test_8bit(COLL_F8E4M3);
	test_8bit(COLL_F8E5M2);
	test_16bit(COLL_F16);
	test_16bit(COLL_BF16);
	print_checked("operator, type, set, and values");
	return tap_done();
}
