// SPDX-License-Identifier: GPL-2.0
/*
 * Between f32 and types of 16 bits: every element there is, the numbers half way between
 * neighbours and next to these, and random ones, by each instruction set.
 */
#include "pure/reduction/factor.h"
#include "reduce_test.h"

#define ALL	65536
/* Elements of a call, and more of them in each call. */
#define BLOCK	97

static const u32 types[] = { COLL_F16, COLL_BF16 };

static coll_reduce_fn *widen_of(const struct coll_simd *s, u32 dtype)
{
	return s->widen[dtype] ? s->widen[dtype] : coll_simd_scalar.widen[dtype];
}

static coll_reduce_fn *narrow_of(const struct coll_simd *s, u32 dtype)
{
	return s->narrow[dtype] ? s->narrow[dtype] : coll_simd_scalar.narrow[dtype];
}

static u16 ref_narrow(u32 dtype, u32 x)
{
	u16 to = 0;

	ref_encode(dtype, ref_decode(COLL_F32, (const u8 *)&x), (u8 *)&to);
	return to;
}

static u32 ref_widen(u32 dtype, u16 x)
{
	u32 to = 0;

	ref_encode(COLL_F32, ref_decode(dtype, (const u8 *)&x), (u8 *)&to);
	return to;
}

static bool is_nan(u32 dtype, u16 x)
{
	return (x & 0x7fff) > (dtype == COLL_F16 ? 0x7c00 : 0x7f80);
}

/* In calls of all lengths, so that each element is in a tail now and then. */
static void convert(coll_reduce_fn *fn, u8 *out, u32 out_size, const u8 *in, u32 in_size, u32 count)
{
	u32 at, n;

	for (at = 0; at < count; at += n) {
		void *to = out + (size_t)at * out_size;
		const void *from = in + (size_t)at * in_size;

		n = at % BLOCK + 1;
		n = n < count - at ? n : count - at;
		fn(&to, 1, &from, 1, n, NULL);
	}
}

static bool widens(const struct coll_simd *s, u32 dtype)
{
	static u16 in[ALL];
	static u32 out[ALL];
	u32 i;

	for (i = 0; i < ALL; i++)
		in[i] = (u16)i;
	convert(widen_of(s, dtype), (u8 *)out, sizeof(u32), (u8 *)in, sizeof(u16), ALL);
	for (i = 0; i < ALL; i++) {
		nr_checked++;
		/* Nobody sends another NaN than the first one. */
		if (is_nan(dtype, in[i]) && (in[i] & 0x7fff) != (dtype == COLL_F16 ? 0x7e00 : 0x7fc0)) {
			if ((out[i] & 0x7fffffff) <= 0x7f800000)
				return false;
			continue;
		}
		if ((out[i] & (is_nan(dtype, in[i]) ? 0x7fffffff : ~0U)) ==
		    ref_widen(dtype, in[i]))
			continue;
		printf("# %s: 0x%04x of type %u becomes 0x%08x, not 0x%08x\n", s->name, in[i],
		       dtype, out[i], ref_widen(dtype, in[i]));
		return false;
	}
	return true;
}

static bool narrows_these(const struct coll_simd *s, u32 dtype, const u32 *in, u32 count)
{
	static u16 out[4 * ALL];
	u32 i;

	convert(narrow_of(s, dtype), (u8 *)out, sizeof(u16), (const u8 *)in, sizeof(u32), count);
	for (i = 0; i < count; i++) {
		nr_checked++;
		if (out[i] == ref_narrow(dtype, in[i]))
			continue;
		printf("# %s: 0x%08x becomes 0x%04x of type %u, not 0x%04x\n", s->name, in[i],
		       out[i], dtype, ref_narrow(dtype, in[i]));
		return false;
	}
	return true;
}

/* Each element, and half way to the next one: the bits of f32 are in the order of numbers. */
static bool narrows(const struct coll_simd *s, u32 dtype)
{
	static u32 in[4 * ALL];
	u32 i, here, next;

	for (i = 0; i < ALL; i++) {
		here = ref_widen(dtype, (u16)i);
		next = is_nan(dtype, (u16)(i + 1)) ? here + 0x1000 : ref_widen(dtype, (u16)(i + 1));
		if ((i & 0x7fff) == 0x7fff)
			next = here;
		in[4 * i] = here;
		in[4 * i + 1] = here / 2 + next / 2 + (here & next & 1);
		/* The least one of f16 is a normal number in f32: half of it has one exponent less. */
		if (!(i & 0x7fff) && dtype == COLL_F16)
			in[4 * i + 1] = next - 0x800000;
		in[4 * i + 2] = in[4 * i + 1] - 1;
		in[4 * i + 3] = in[4 * i + 1] + 1;
	}
	if (!narrows_these(s, dtype, in, 4 * ALL))
		return false;
	for (i = 0; i < 4 * ALL; i++)
		in[i] = (u32)tap_random(&rnd);
	return narrows_these(s, dtype, in, 4 * ALL);
}

/* Results are rounded: all outputs get the first one, narrowed and widened again. */
static bool rounds(const struct coll_simd *s, u32 dtype)
{
	const struct coll_after after = {
		.narrow = narrow_of(s, dtype), .widen = widen_of(s, dtype),
	};
	static u32 out[3][ALL], was[ALL];
	void *to[3] = { out[0], out[1], out[2] };
	u32 count, i, k, want;

	for (count = 0; count < ALL; count = 3 * count + 1) {
		for (i = 0; i < count + 1; i++) {
			was[i] = (u32)tap_random(&rnd);
			for (k = 0; k < 3; k++)
				out[k][i] = was[i];
		}
		coll_after_run(&after, to, 3, count);
		for (i = 0; i < count + 1; i++) {
			want = i < count ? ref_widen(dtype, ref_narrow(dtype, was[i])) : was[i];
			nr_checked++;
			if (out[0][i] != want || out[1][i] != want || out[2][i] != want)
				return false;
		}
	}
	return true;
}

int main(void)
{
	u32 i, k;

	rnd = tap_seed();
	find_sets();
	for (i = 0; i < nr_sets; i++) {
		for (k = 0; k < COUNT(types); k++) {
			tap_ok(widens(sets[i], types[k]), "%s: all of type %u, to f32",
			       sets[i]->name, types[k]);
			tap_ok(narrows(sets[i], types[k]), "%s: f32 to type %u", sets[i]->name,
			       types[k]);
			tap_ok(rounds(sets[i], types[k]), "%s: results rounded to type %u",
			       sets[i]->name, types[k]);
		}
	}
	print_checked("conversions");
	return tap_done();
}
