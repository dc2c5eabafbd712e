// SPDX-License-Identifier: GPL-2.0
/* Elements to reduce: special ones, random ones, and ones that are often equal or close. */
#include "reduce_test.h"

u64 rnd;

static u64 bits_of(u32 kind)
{
	return 8 * ref_type(kind)->size;
}

/* --- special values ----------------------------------------------------------- */

/* Exponents: denormal, least, half an ulp of 1, an ulp, around 1, the end. */
#define NR_EXPONENTS	11
#define NR_FRACTIONS	6
/* Odd patterns of 80 bits: they mean nothing, or the same as others. */
#define NR_ODD		4

static u32 float_exponent(const struct ref_format *f, u32 i)
{
	u32 bias = (1U << (f->exponent_bits - 1)) - 1, end = 2 * bias + 1;
	u32 ulp = bias > (u32)f->digits ? bias - f->digits : 0;
	const u32 exponents[NR_EXPONENTS] = {
		0, 1, 2, ulp, ulp + 1, bias - 1, bias, bias + 1, end - 2, end - 1, end,
	};

	return exponents[i];
}

static u64 float_fraction(const struct ref_format *f, u32 i)
{
	u64 all = (1ULL << (f->digits - 1)) - 1, half = 1ULL << (f->digits - 2);
	const u64 fractions[NR_FRACTIONS] = {
		0, 1, half, half + 1, all, all & 0x5555555555555555,
	};

	return fractions[i];
}

static void special_ldouble(u32 exponent, u64 fraction, bool neg, u8 *p)
{
	u16 top = exponent | neg << 15;

	if (exponent)
		fraction |= 1ULL << 63;
	memcpy(p, &fraction, 8);
	memcpy(p + 8, &top, 2);
}

static void odd_ldouble(u32 i, u8 *p)
{
	/* an unnormal, a pseudo-infinity, a pseudo-NaN, a pseudo-zero */
	static const u64 m[NR_ODD] = { 1ULL << 62, 0, 1, 0 };
	static const u16 top[NR_ODD] = { 0x3fff, 0x7fff, 0xffff, 0x4000 };

	memcpy(p, &m[i], 8);
	memcpy(p + 8, &top[i], 2);
}

static void special_float(u32 kind, u32 i, u8 *p)
{
	const struct ref_format *f = ref_format(kind);
	u32 exponent = float_exponent(f, i / 2 % NR_EXPONENTS);
	u64 fraction = float_fraction(f, i / 2 / NR_EXPONENTS % NR_FRACTIONS);
	u64 v;

	if (kind == COLL_LDOUBLE && i >= 2 * NR_EXPONENTS * NR_FRACTIONS) {
		odd_ldouble(i % NR_ODD, p);
	} else if (kind == COLL_LDOUBLE) {
		special_ldouble(exponent, fraction, i & 1, p);
	} else {
		v = fraction | (u64)exponent << (f->digits - 1) |
		    (u64)(i & 1) << (bits_of(kind) - 1);
		memcpy(p, &v, ref_kind_bytes(kind));
	}
}

static const u64 special_ints[] = {
	0, 1, 2, 3, 5, 7, 10, -1, -2, -3, -7, -128, 127, 128, 255, 256, 0x7ffe, 0x7fff,
	0x8000, 0x8001, 0xffff, 0x10000, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
	0xffffffff, 0x100000000, 0x7ffffffffffffffe, 0x7fffffffffffffff,
	0x8000000000000000, 0x8000000000000001, 0x00ff00ff00ff00ff, 0x5555555555555555,
};

u32 nr_special(u32 kind)
{
	if (!ref_kind_is_float(kind))
		return COUNT(special_ints);
	return 2 * NR_EXPONENTS * NR_FRACTIONS + (kind == COLL_LDOUBLE ? NR_ODD : 0);
}

void special(u32 kind, u32 i, u8 *p)
{
	if (ref_kind_is_float(kind))
		special_float(kind, i, p);
	else
		memcpy(p, &special_ints[i], ref_kind_bytes(kind));
}

/* --- random values ------------------------------------------------------------ */

struct gen any_gen(void)
{
	static const u32 specials[] = { 0, 0, 1, 4, 16 };
	static const u32 spreads[] = { 0, 1, 4, 30, 60 };
	static const u32 values[] = { 0, 1, 2, 3, 9 };	/* see make_value() */
	u64 r = tap_random(&rnd);

	return (struct gen){
		.specials = specials[(r >> 10) % COUNT(specials)],
		.spread = spreads[(r >> 20) % COUNT(spreads)],
		.values = values[(r >> 30) % COUNT(values)],
	};
}

/* Near 1, and often with few digits, so that there are ties to break. */
static void near_one(u32 kind, u32 spread, u8 *p)
{
	const struct ref_format *f = ref_format(kind);
	u64 r = tap_random(&rnd), fraction = tap_random(&rnd) >> (65 - f->digits);
	u32 bias = (1U << (f->exponent_bits - 1)) - 1, exponent;
	u64 v;

	if (spread > bias - 1)
		spread = bias - 1;
	exponent = bias - spread + r % (2 * spread + 1);
	if (r >> 62)
		fraction &= ~0ULL << ((r >> 32) % f->digits);
	if (kind == COLL_LDOUBLE) {
		special_ldouble(exponent, fraction, r >> 61 & 1, p);
		return;
	}
	v = fraction | (u64)exponent << (f->digits - 1) |
	    (r >> 61 & 1) << (bits_of(kind) - 1);
	memcpy(p, &v, ref_kind_bytes(kind));
}

static void make_number(const struct gen *g, u32 kind, u8 *p)
{
	u64 r = tap_random(&rnd), v = tap_random(&rnd);
	u16 top = r >> 16;

	if (r % 16 < g->specials) {
		special(kind, v % nr_special(kind), p);
	} else if (kind == COLL_BOOL || (kind == COLL_BYTE && r >> 63)) {
		*p = v >> 60 < 6 ? 0 : v >> 60 < 12 ? 1 : v;
	} else if (ref_kind_is_float(kind) && g->spread) {
		near_one(kind, g->spread, p);
	} else if (kind == COLL_LDOUBLE) {
		special_ldouble(top & 0x7fff, v & ~(1ULL << 63), top >> 15, p);
	} else {
		memcpy(p, &v, ref_kind_bytes(kind));
	}
}

/* A few values that come again and again; of floats +-0, +-1, NaNs, an infinity. */
static void make_value(const struct gen *g, u32 kind, u8 *p)
{
	static const u32 floats[] = { 0, 1, 12, 42, 13, 65, 20, 12, 88 };
	u32 n = tap_random(&rnd) % g->values;

	special(kind, ref_kind_is_float(kind) ? floats[n] : n * 5 % nr_special(kind), p);
}

void make_element(const struct gen *g, u32 dtype, u8 *p)
{
	const struct ref_type *t = ref_type(dtype);
	u64 r;
	u32 i;

	for (i = 0; i < t->size && t->nr > 1; i += 8) {
		r = tap_random(&rnd);
		memcpy(p + i, &r, 8);
	}
	if (dtype == COLL_LDOUBLE) {
		r = tap_random(&rnd);
		memcpy(p + 8, &r, 8);
	}
	for (i = 0; i < t->nr; i++) {
		if (g->values && t->nr == 2)
			make_value(g, t->kind[i], p + t->offset[i]);
		else
			make_number(g, t->kind[i], p + t->offset[i]);
	}
}

void make_arg(const struct gen *g, struct test_arg *a, u32 op, u32 dtype, u32 nr)
{
	static const u32 divisors[] = {
		1, 2, 3, 5, 7, 8, 65, 127, 128, 255, 256, 257, 1024, 32768, 65535,
		65536, 65537, 1 << 20, (1 << 20) - 1,
	};
	u32 k, r = tap_random(&rnd) >> 32;

	for (k = 0; k < COLL_SIMD_MAX; k++)
		a->scale[k] = tap_random(&rnd);
	for (k = 0; k < nr && op == COLL_OP_PREMULSUM; k++)
		make_element(g, dtype, (u8 *)&a->scale[k]);
	a->arg.scale = a->scale;
	a->arg.nr_folded = r % 3 ? r / 3 % (nr + 1) : 0;
	a->arg.divisor = r >> 30 ? divisors[r / 4 % COUNT(divisors)] : 1 + r % (1 << 20);
	a->arg.stream = r >> 8 & 1;
}

static void show_bytes(const char *what, const u8 *p, u32 size)
{
	u32 i;

	printf("#   %-6s", what);
	for (i = size; i--; )	/* as numbers are written */
		printf("%02x%s", p[i], i && i % 8 == 0 ? " " : "");
	printf("\n");
}

void show_failure(const struct coll_simd *s, u32 op, u32 dtype, const u8 *const *elem,
		  u32 nr, const struct coll_reduce_arg *arg, const u8 *got, const u8 *want)
{
	u32 k, size = ref_type(dtype)->size;

	printf("# %s: %s of %s, %u inputs\n", s->name, coll_op_name(op),
	       coll_dtype_name(dtype), nr);
	if (arg && op == COLL_OP_AVG)
		printf("#   divisor %u\n", arg->divisor);
	if (arg && op == COLL_OP_PREMULSUM) {
		printf("#   %u of them folded\n", arg->nr_folded);
		for (k = 0; arg->nr_folded + k < nr; k++)
			show_bytes("factor", (const u8 *)&arg->scale[k], size);
	}
	for (k = 0; k < nr; k++)
		show_bytes("input", elem[k], size);
	show_bytes("gives", got, size);
	show_bytes("not", want, size);
}
