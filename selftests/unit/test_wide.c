// SPDX-License-Identifier: GPL-2.0
/*
 * Folds with wider partial results: cut into partial results anywhere, against exact
 * integers and floats that are rounded by hand; by every instruction set, at odd addresses.
 */
#include "pure/reduction/wide.h"
#include "reduce_test.h"

#define INPUTS	40
#define MOST	256
#define ROUNDS	300

static u8 elems[INPUTS][MOST * 16 + 1], partial[2][MOST * 16 + 1], out[2][MOST * 16 + 1];
static u64 room[COLL_WIDE_ROOM / 8 + 1];

/* A fold as the kernel does it: up to @cut, then the rest; 0 and @nr: not cut. */
static void run(const struct coll_wide *w, u32 dtype, u32 nr, u32 cut, u32 count,
		const struct coll_reduce_arg *arg)
{
	const u32 wide = w->partial * w->parts;
	struct coll_reduce_arg a = *arg;
	const void *in[INPUTS + 1];
	void *to[2] = { partial[0] + 1, partial[1] + 1 };
	struct coll_wide_job j = {
		.w = w, .out = to, .nr_out = 2, .in = in, .arg = &a, .room = room,
	};
	u32 k, n = 0;

	a.nr_folded = 0;
	if (cut) {
		for (k = 0; k < cut; k++)
			in[k] = elems[k] + 1;
		j.nr_in = cut;
		coll_wide_run(&j, count);
		if (memcmp(partial[0] + 1, partial[1] + 1, (size_t)count * wide))
			tap_ok(false, "two outputs are the same");
		in[n++] = partial[1] + 1;
		a.nr_folded = 1;
	}
	for (k = cut; k < nr; k++)
		in[n++] = elems[k] + 1;
	a.scale = arg->scale ? arg->scale + cut : NULL;
	to[0] = out[0] + 1;
	to[1] = out[1] + 1;
	j.nr_in = n;
	j.final = true;
	coll_wide_run(&j, count);
}

/* --- what it should be -------------------------------------------------------- */

static __int128 integer(u32 dtype, const u8 *p)
{
	u64 v = 0;

	memcpy(&v, p, coll_dtype_size(dtype));
	switch (dtype) {
	case COLL_I8:	return (s8)v;
	case COLL_I16:	return (s16)v;
	case COLL_I32:	return (s32)v;
	case COLL_I64:	return (s64)v;
	default:	return v;
	}
}

static void want_integer(u32 dtype, u32 nr, u32 i, u32 divisor, u8 *want)
{
	u32 k, size = coll_dtype_size(dtype);
	__int128 sum = 0;

	for (k = 0; k < nr; k++)
		sum += integer(dtype, elems[k] + 1 + (size_t)i * size);
	sum /= (__int128)divisor;
	memcpy(want, &sum, size);
}

/* An extended number has 4 digits less than the type: the rest is cut off. */
static struct ref_num cut_off(const struct ref_format *f, struct ref_num x)
{
	while (x.m >> (f->digits - 4)) {
		x.m >>= 1;
		x.e++;
	}
	return x;
}

static bool beyond(const struct ref_format *f, struct ref_num x)
{
	struct ref_num top = { .m = 1, .e = f->top + 1 };

	x.neg = false;
	return !x.nan && !x.inf && ref_compare(x, top) >= 0;
}

static void want_float(u32 dtype, u32 op, u32 nr, u32 cut, u32 i, u32 part,
		       const struct coll_reduce_arg *arg, u8 *want)
{
	u32 kind = ref_type(dtype)->kind[0], at = part * ref_type(dtype)->offset[1];
	u32 size = coll_dtype_size(dtype), wide = kind == COLL_F64 ? COLL_F64 : COLL_F32;
	bool ext = op == COLL_OP_AVG || (op == COLL_OP_SUM && dtype == COLL_BF16);
	struct ref_format f = *ref_format(wide);
	struct ref_num acc = {}, x;
	u32 k;

	if (ext && kind != COLL_F16 && kind != COLL_F8E4M3 && kind != COLL_F8E5M2)
		f.top += 60;
	else
		ext = false;
	for (k = 0; k < nr; k++) {
		x = ref_decode(kind, elems[k] + 1 + (size_t)i * size + at);
		if (op == COLL_OP_PREMULSUM)
			x = ref_mul(&f, x, ref_decode(kind, (const u8 *)&arg->scale[k]));
		if (!k)
			acc = x;
		else
			acc = op == COLL_OP_PROD ? ref_mul(&f, acc, x) : ref_add(&f, acc, x);
		if (ext && k + 1 == cut && beyond(ref_format(wide), acc))
			acc = cut_off(&f, acc);
	}
	if (op == COLL_OP_AVG)
		acc = ref_div(&f, acc, arg->divisor);
	/* The result is rounded to the wide type first: beyond that type it becomes infinite. */
	if (ext && beyond(ref_format(wide), acc))
		acc = (struct ref_num){ .inf = true, .neg = acc.neg };
	ref_encode(kind, acc, want + at);
}

static bool is_integer(u32 dtype)
{
	return dtype >= COLL_I8 && dtype <= COLL_U64;
}

static bool same(u32 dtype, u32 op, u32 nr, u32 cut, u32 count, const struct coll_reduce_arg *arg)
{
	u32 i, p, size = coll_dtype_size(dtype);
	u8 want[16];

	for (i = 0; i < count; i++) {
		if (is_integer(dtype))
			want_integer(dtype, nr, i, arg->divisor, want);
		for (p = 0; !is_integer(dtype) && p < ref_type(dtype)->nr; p++)
			want_float(dtype, op, nr, cut, i, p, arg, want);
		nr_checked++;
		for (p = 0; p < 2; p++) {
			if (!memcmp(out[p] + 1 + (size_t)i * size, want, size))
				continue;
			printf("# %s of %s, %u inputs cut at %u, divisor %u, element %u:",
			       coll_op_name(op), coll_dtype_name(dtype), nr, cut, arg->divisor, i);
			for (p = 0; p < size; p++)
				printf(" %02x/%02x", out[0][1 + i * size + p], want[p]);
			printf("\n");
			return false;
		}
	}
	return true;
}

/* --- cases -------------------------------------------------------------------- */

/* Finite, and so large that a few of them are too much for the type. */
static void make_large(u32 dtype, u8 *p)
{
	u32 i, kind, bytes;
	u64 v;

	for (i = 0; i < ref_type(dtype)->nr; i++) {
		kind = ref_type(dtype)->kind[i];
		bytes = ref_kind_bytes(kind);
		v = tap_random(&rnd);
		if (ref_kind_is_float(kind)) {
			v = ref_format(kind)->largest - v % 32 - (v >> 60) % 3 * 32;
			v |= (tap_random(&rnd) >> 63) << (8 * bytes - 1);
		}
		memcpy(p + ref_type(dtype)->offset[i], &v, bytes);
	}
}

static void fill(u32 dtype, u32 nr, u32 count, const struct gen *g, bool large)
{
	u32 k, i, size = coll_dtype_size(dtype);
	u8 e[32];

	for (k = 0; k < nr; k++) {
		for (i = 0; i < count; i++) {
			make_element(g, dtype, e);
			if (large && tap_random(&rnd) % 8)
				make_large(dtype, e);
			memcpy(elems[k] + 1 + (size_t)i * size, e, size);
		}
	}
}

static bool check(const struct coll_simd *set, u32 op, u32 dtype)
{
	u32 round, nr, cut, count;
	struct test_arg a;
	struct coll_wide w;
	struct gen g;

	if (!coll_wide_setup(&w, set, op, dtype) ||
	    w.partial * w.parts != coll_wide_size(op, dtype))
		return false;
	for (round = 0; round < volume(ROUNDS); round++) {
		g = any_gen();
		nr = 2 + (u32)(tap_random(&rnd) % (round % 16 ? 5 : INPUTS - 2));
		cut = (u32)(tap_random(&rnd) % (nr + 1));
		count = 1 + (u32)(tap_random(&rnd) % 40);
		if (round % 32 == 0)
			count = coll_wide_most(&w) < MOST ? coll_wide_most(&w) : MOST;
		make_arg(&g, &a, op, dtype, nr);
		if (op != COLL_OP_PREMULSUM)
			a.arg.scale = NULL;
		a.arg.stream = false;
		if (op == COLL_OP_AVG && a.arg.divisor < nr)
			a.arg.divisor = nr;
		fill(dtype, nr, count, &g, round % 2);
		run(&w, dtype, nr, cut, count, &a.arg);
		if (!same(dtype, op, nr, cut, count, &a.arg))
			return false;
	}
	return true;
}

/* The average of equal numbers is that number: all finite ones of up to 16 bits. */
static bool check_equal(const struct coll_simd *set, u32 dtype)
{
	u32 size = coll_dtype_size(dtype), largest = (u32)ref_format(dtype)->largest, v, k, nr;
	struct coll_reduce_arg arg = { 0 };
	struct coll_wide w;

	coll_wide_setup(&w, set, COLL_OP_AVG, dtype);
	for (nr = 2; nr <= 34; nr += 8) {
		arg.divisor = nr;
		for (v = 0; v <= largest; v++) {
			for (k = 0; k < nr; k++)
				memcpy(elems[k] + 1, &v, size);
			run(&w, dtype, nr, 1 + v % (nr - 1), 1, &arg);
			if (memcmp(out[0] + 1, &v, size)) {
				printf("# %u times %x\n", nr, v);
				return false;
			}
			nr_checked++;
		}
	}
	return true;
}

/* Averages of finite numbers are finite, for all types. */
static bool check_finite(const struct coll_simd *set, u32 dtype)
{
	u32 size = coll_dtype_size(dtype), kind = ref_type(dtype)->kind[0], nr, k, i, bytes;
	struct coll_reduce_arg arg = { 0 };
	struct coll_wide w;
	struct ref_num x;

	bytes = ref_kind_bytes(kind);
	coll_wide_setup(&w, set, COLL_OP_AVG, dtype);
	for (nr = 2; nr <= INPUTS; nr++) {
		arg.divisor = nr;
		for (k = 0; k < nr; k++)
			for (i = 0; i < size; i += bytes)
				memcpy(elems[k] + 1 + i, &ref_format(kind)->largest, bytes);
		run(&w, dtype, nr, nr / 2, 1, &arg);
		for (i = 0; i < size; i += bytes) {
			x = ref_decode(kind, out[0] + 1 + i);
			if (x.inf || x.nan)
				return false;
		}
	}
	return true;
}

static void check_set(const struct coll_simd *set)
{
	u32 op, dtype;

	for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 0; op < COLL_NR_OPS; op++)
			if (coll_wide_size(op, dtype))
				tap_ok(check(set, op, dtype), "%s: %s of %s", set->name,
				       coll_op_name(op), coll_dtype_name(dtype));
		if (!coll_wide_size(COLL_OP_AVG, dtype) || is_integer(dtype))
			continue;
		tap_ok(check_finite(set, dtype), "%s: averages of %s are finite", set->name,
		       coll_dtype_name(dtype));
		if (coll_dtype_size(dtype) <= 2)
			tap_ok(check_equal(set, dtype), "%s: averages of equal %s", set->name,
			       coll_dtype_name(dtype));
	}
}

int main(void)
{
	u32 k;

	rnd = tap_seed();
	find_sets();
	for (k = 0; k < nr_sets; k++)
		check_set(sets[k]);
	print_checked("wide folds");
	return tap_done();
}
