// SPDX-License-Identifier: GPL-2.0
/*
 * Reductions: the scalar reference against an independent one in wider types,
 * then each instruction set of this CPU against the scalar one, bit by bit.
 * Vectors lie against a page that nobody may touch, at their end or before their
 * beginning; canaries watch the other side.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "pure/optable.h"
#include "simd/simd.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_IN		8
#define MAX_OUT		4
#define MAX_COUNT	130
#define ROOM		4096	/* bytes of a buffer; more than 130 * 8 + 64 */
#define CANARY		0xa5

static const struct { u32 dtype; u32 bits; bool is_signed, is_float; } types[] = {
	{ COLL_I32, 32, true, false }, { COLL_U32, 32, false, false },
	{ COLL_I64, 64, true, false }, { COLL_U64, 64, false, false },
	{ COLL_F32, 32, true, true }, { COLL_F64, 64, true, true },
};

static const u32 special32[] = {
	0, 1, 0x80000000, 0x7fffffff, 0xffffffff,	/* also 0, least denormal, -0 */
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,	/* infinities, quiet NaNs */
	0x7fc12345, 0xffedcba9, 0x7f800001, 0xffa00000,	/* payloads, signalling NaNs */
	0x007fffff, 0x807fffff, 0x00800000, 0x7f7fffff,	/* denormals, least, largest */
	0x3f800000, 0xbf800000, 0x3f800001, 0x34000000,	/* 1, -1, next to 1, 2^-23 */
};

static const u64 special64[] = {
	0, 1, 0x8000000000000000, 0x7fffffffffffffff, 0xffffffffffffffff,
	0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
	0x7ff8123456789abc, 0xfffedcba98765432, 0x7ff0000000000001, 0xfff4000000000000,
	0x000fffffffffffff, 0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
	0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3cb0000000000000,
};

static u64 rnd;
static u8 *in_base[MAX_IN], *out_base[MAX_OUT];
static u8 input[MAX_IN][MAX_COUNT * 8];

static u8 *guarded(void)
{
	u8 *p = mmap(NULL, 3 * ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + ROOM, ROOM, PROT_READ | PROT_WRITE))
		abort();
	return p + ROOM;
}

/* The independent reference, one step on the bits of two elements. */

static bool is_nan(u64 v, u32 bits)
{
	return bits == 32 ? (v & 0x7fffffff) > 0x7f800000 :
			    (v & ~(1ULL << 63)) > 0x7ff0000000000000;
}

static long double f32_of(u64 v)
{
	u32 w = v;
	float f;

	memcpy(&f, &w, 4);
	return f;
}

static __float128 f64_of(u64 v)
{
	double f;

	memcpy(&f, &v, 8);
	return f;
}

/*
 * The wider type has more than twice the digits and two, so rounding twice is
 * rounding once (Figueroa, "When is double rounding innocuous?", 1995).
 */
static u64 ref_float(u32 op, u32 bits, u64 a, u64 b)
{
	u32 w = 0;
	u64 v = 0;

	if (is_nan(a, bits))
		return a;
	if (is_nan(b, bits))
		return b;
	if (bits == 32) {
		long double x = f32_of(a), y = f32_of(b);
		float f = op == COLL_OP_SUM ? x + y : x * y;

		if (op == COLL_OP_MIN)
			return y < x ? b : a;
		if (op == COLL_OP_MAX)
			return y > x ? b : a;
		memcpy(&w, &f, 4);
		return w;
	} else {
		__float128 x = f64_of(a), y = f64_of(b);
		double f = op == COLL_OP_SUM ? x + y : x * y;

		if (op == COLL_OP_MIN)
			return y < x ? b : a;
		if (op == COLL_OP_MAX)
			return y > x ? b : a;
		memcpy(&v, &f, 8);
		return v;
	}
}

static u64 ref_int(u32 op, u32 bits, bool is_signed, u64 a, u64 b)
{
	u32 shift = 64 - bits;
	__int128 x = is_signed ? (__int128)((s64)(a << shift) >> shift) : (__int128)a;
	__int128 y = is_signed ? (__int128)((s64)(b << shift) >> shift) : (__int128)b;
	u64 mask = ~0ULL >> shift;

	switch (op) {
	case COLL_OP_SUM:
		return (unsigned __int128)(x + y) & mask;
	case COLL_OP_PROD:
		return ((unsigned __int128)a * b) & mask;
	case COLL_OP_MIN:
		return y < x ? b : a;
	default:
		return y > x ? b : a;
	}
}

static u64 ref_fold(u32 t, u32 op, const u64 *v, u32 nr)
{
	u64 r = v[0];
	u32 k;

	for (k = 1; k < nr; k++)
		r = types[t].is_float ? ref_float(op, types[t].bits, r, v[k]) :
			ref_int(op, types[t].bits, types[t].is_signed, r, v[k]);
	if (nr > 1 && types[t].is_float && is_nan(r, types[t].bits) &&
	    (op == COLL_OP_SUM || op == COLL_OP_PROD))
		r = types[t].bits == 32 ? 0x7fc00000 : 0x7ff8000000000000;
	return r;
}

static u64 random_element(u32 bits)
{
	u64 v = tap_random(&rnd);

	if (tap_random(&rnd) % 4 == 0)
		return bits == 32 ? special32[v % COUNT(special32)] :
				    special64[v % COUNT(special64)];
	return bits == 32 ? v >> 32 : v;
}

static void reduce_one(coll_reduce_fn *fn, u32 bytes, const u64 *v, u32 nr, u64 *result)
{
	const void *in[MAX_IN];
	void *out[1] = { result };
	u32 k;

	*result = 0;
	for (k = 0; k < nr; k++)
		in[k] = &v[k];	/* little-endian: the low bytes come first */
	fn(out, 1, in, nr, 1);
}

/* Every pair of special values, and random folds of 1 .. 8. */
static bool reference_ok(const struct coll_simd *s, u32 t, u32 op)
{
	coll_reduce_fn *fn = s->fn[types[t].dtype][op];
	u32 bytes = types[t].bits / 8, i, j, k, nr;
	u64 v[MAX_IN], got;

	for (i = 0; i < COUNT(special32); i++) {
		for (j = 0; j < COUNT(special32); j++) {
			v[0] = bytes == 4 ? special32[i] : special64[i];
			v[1] = bytes == 4 ? special32[j] : special64[j];
			reduce_one(fn, bytes, v, 2, &got);
			if (got != ref_fold(t, op, v, 2))
				goto bad;
		}
	}
	for (i = 0; i < 20000; i++) {
		nr = 1 + i % MAX_IN;
		for (k = 0; k < nr; k++)
			v[k] = random_element(types[t].bits);
		reduce_one(fn, bytes, v, nr, &got);
		if (got != ref_fold(t, op, v, nr))
			goto bad;
	}
	return true;
bad:
	printf("# %s %s: %llx %llx ...: %llx\n", coll_dtype_name(types[t].dtype),
	       coll_op_name(op), (unsigned long long)v[0], (unsigned long long)v[1],
	       (unsigned long long)got);
	return false;
}

/* One call: where the vectors lie, and what came out. */
struct layout {
	u32 bytes;
	u32 nr_in, nr_out;
	bool at_end;
	u32 align;	/* of the first; the others differ */
	bool in_place;
};

static u8 *place(u8 *base, const struct layout *l, u32 i)
{
	return l->at_end ? base + ROOM - l->bytes : base + (l->align + 7 * i) % 64;
}

static bool canary_ok(const u8 *base, const u8 *p, u32 bytes)
{
	const u8 *q;

	for (q = p - base > 192 ? p - 192 : base; q < p; q++) {
		if (*q != CANARY)
			return false;
	}
	for (q = p + bytes; q < p + bytes + 192 && q < base + ROOM; q++) {
		if (*q != CANARY)
			return false;
	}
	return true;
}

static bool call_ok(coll_reduce_fn *fn, const struct layout *l, u32 count, const u8 *want)
{
	const void *in[MAX_IN];
	void *out[MAX_OUT];
	u8 *base[MAX_OUT];
	u32 k, i;

	for (k = 0; k < l->nr_in; k++)
		in[k] = memcpy(place(in_base[k], l, k), input[k], l->bytes);
	for (k = 0; k < l->nr_out; k++) {
		/* in place: outputs are inputs, the last ones first */
		i = l->nr_in - 1 - k % l->nr_in;
		base[k] = l->in_place ? in_base[i] : out_base[k];
		out[k] = place(base[k], l, l->in_place ? i : 5 * k + 3);
		if (!l->in_place)
			memset(base[k], CANARY, ROOM);
	}
	fn(out, l->nr_out, in, l->nr_in, count);
	for (k = 0; k < l->nr_out; k++) {
		if (memcmp(out[k], want, l->bytes) ||
		    (!l->in_place && !canary_ok(base[k], out[k], l->bytes)))
			return false;
	}
	for (k = 0; k < l->nr_in && !l->in_place; k++) {
		if (memcmp(in[k], input[k], l->bytes))
			return false;
	}
	return true;
}

static void fill_inputs(u32 bits)
{
	u32 k, i;
	u64 v;

	for (k = 0; k < MAX_IN; k++) {
		for (i = 0; i < MAX_COUNT; i++) {
			v = random_element(bits);
			memcpy(input[k] + i * (bits / 8), &v, bits / 8);
		}
	}
}

static void scalar_result(u32 t, u32 op, u32 nr_in, u32 count, u8 *want)
{
	const void *in[MAX_IN];
	void *out[1] = { want };
	u32 k;

	for (k = 0; k < nr_in; k++)
		in[k] = input[k];
	coll_simd_scalar.fn[types[t].dtype][op](out, 1, in, nr_in, count);
}

static bool shapes_ok(coll_reduce_fn *fn, struct layout *l, u32 count, const u8 *want)
{
	for (l->nr_out = 1; l->nr_out <= MAX_OUT; l->nr_out++) {
		for (l->in_place = 0; ; l->in_place = 1) {
			l->at_end = true;
			if (!call_ok(fn, l, count, want))
				return false;
			l->at_end = false;
			l->align = tap_random(&rnd) % 64;
			if (!call_ok(fn, l, count, want))
				return false;
			if (l->in_place)
				break;
		}
	}
	return true;
}

/* All lengths and shapes at either guard; all alignments with some lengths. */
static bool vectors_ok(const struct coll_simd *s, u32 t, u32 op)
{
	static const u32 some[] = { 1, 3, 4, 7, 8, 9, 31, 32, 33, 63, 100 };
	coll_reduce_fn *fn = s->fn[types[t].dtype][op];
	u32 size = types[t].bits / 8, count, i;
	u8 want[MAX_COUNT * 8];
	struct layout l;

	for (count = 0; count <= MAX_COUNT; count++) {
		fill_inputs(types[t].bits);
		for (l.nr_in = 1; l.nr_in <= MAX_IN; l.nr_in++) {
			scalar_result(t, op, l.nr_in, count, want);
			l.bytes = count * size;
			if (!shapes_ok(fn, &l, count, want))
				goto bad;
		}
	}
	l.at_end = false;
	for (i = 0; i < 64 * COUNT(some); i++) {
		count = some[i / 64];
		l.align = i % 64;
		l.bytes = count * size;
		l.nr_in = 1 + i % 4;
		l.nr_out = 1 + i % 3;
		l.in_place = i % 5 == 0;
		scalar_result(t, op, l.nr_in, count, want);
		if (!call_ok(fn, &l, count, want))
			goto bad;
	}
	return true;
bad:
	printf("# %s %s: %u elements, %u -> %u, %s %u%s\n", coll_dtype_name(types[t].dtype),
	       coll_op_name(op), count, l.nr_in, l.nr_out,
	       l.at_end ? "at the end" : "alignment", l.align,
	       l.in_place ? ", in place" : "");
	return false;
}

static bool table_ok(const struct coll_simd *s)
{
	u32 dtype, op;

	for (dtype = 0; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 0; op < COLL_NR_OPS; op++) {
			if (!!s->fn[dtype][op] != coll_op_defined(op, dtype))
				return false;
		}
	}
	return true;
}

static void test_set(const struct coll_simd *s)
{
	bool wide = true, vectors = true;
	u32 t, op;

	if (!tap_ok(table_ok(s), "%s: a function where an operator is defined", s->name))
		return;
	for (t = 0; t < COUNT(types); t++) {
		for (op = COLL_OP_SUM; op <= COLL_OP_MAX; op++) {
			wide &= reference_ok(s, t, op);
			vectors &= vectors_ok(s, t, op);
		}
	}
	tap_ok(wide, "%s: single elements as computed in wider types", s->name);
	tap_ok(vectors, "%s: lengths, shapes, alignments, in place; nothing touched beyond",
	       s->name);
}

/* As many vectors as the interface allows. */
static void test_most(const struct coll_simd *s)
{
	const void *in[COLL_SIMD_MAX];
	void *out[COLL_SIMD_MAX];
	static u32 v[COLL_SIMD_MAX][77];
	bool ok = true;
	u32 k, i;

	for (k = 0; k < COLL_SIMD_MAX; k++) {
		for (i = 0; i < 77; i++)
			v[k][i] = k * i;
		in[k] = v[k];
		out[k] = v[k];
	}
	s->fn[COLL_U32][COLL_OP_SUM](out, COLL_SIMD_MAX, in, COLL_SIMD_MAX, 77);
	for (k = 0; k < COLL_SIMD_MAX; k++) {
		for (i = 0; i < 77; i++)
			ok &= v[k][i] == i * (COLL_SIMD_MAX * (COLL_SIMD_MAX - 1) / 2);
	}
	tap_ok(ok, "%s: %d inputs, %d outputs, in place", s->name, COLL_SIMD_MAX, COLL_SIMD_MAX);
}

int main(void)
{
	u32 k;

	rnd = tap_seed();
	for (k = 0; k < MAX_IN; k++)
		in_base[k] = guarded();
	for (k = 0; k < MAX_OUT; k++)
		out_base[k] = guarded();

	test_set(&coll_simd_scalar);
	test_most(&coll_simd_scalar);
#if defined(__x86_64__)
	test_set(&coll_simd_sse2);
	test_most(&coll_simd_sse2);
	if (__builtin_cpu_supports("avx2")) {
		test_set(&coll_simd_avx2);
		test_most(&coll_simd_avx2);
	} else {
		tap_skip("avx2", "not on this CPU");
	}
#endif
	return tap_done();
}
