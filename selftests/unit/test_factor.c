// SPDX-License-Identifier: GPL-2.0
/* Factors in smaller types, against the compiler; results that are divided and multiplied. */
#include <math.h>
#include <string.h>

#include "pure/reduction/factor.h"
#include "pure/reduction/wide.h"
#include "reduce_test.h"

static u64 bits(double d)
{
	u64 b;

	memcpy(&b, &d, sizeof(b));
	return b;
}

/* Is the factor rounded as the compiler does it, and refused where it is lost? */
static bool is_right(u64 f64)
{
	u64 got = 0, same = 0;
	bool ok, ok64;
	double d;
	float f;
	u32 want;

	memcpy(&d, &f64, sizeof(d));
	f = (float)d;
	memcpy(&want, &f, sizeof(want));
	ok = coll_factor(COLL_F32, f64, &got);
	ok64 = coll_factor(COLL_F64, f64, &same);
	nr_checked++;
	if (ok64 != (isfinite(d) && d != 0) || (ok64 && same != f64))
		return false;
	if (!isfinite(d) || !isfinite(f) || f == 0)
		return !ok;
	return ok && got == want;
}

/* Near the ends of ranges, and near the middle between two floats. */
static bool edges(void)
{
	static const double at[] = {
		0x1p-149, 0x1p-150, 0x1.8p-149, 0x1.8p-150, 0x1p-126, 0x1.fffffep-127, 0x1.fffffep127,
		0x1.ffffffp127, 0x1p128, 0x1p-1022, 0x1p-1074, 1, 0x1.000001p0, 0x1.000003p0,
		0x1.fffffffp0, 0, 0x1.fffffffffffffp1023,
	};
	size_t k;
	int off;

	for (k = 0; k < sizeof(at) / sizeof(at[0]); k++)
		for (off = -3; off <= 3; off++)
			if (!is_right(bits(at[k]) + off) ||
			    !is_right((bits(at[k]) + off) | 1ULL << 63))
				return false;
	return is_right(bits(NAN)) && is_right(bits(INFINITY)) && is_right(bits(-INFINITY));
}

static bool random_ones(u64 *rnd)
{
	u64 x, exponent;
	u32 i;

	for (i = 0; i < volume(200000); i++) {
		x = tap_random(rnd);
		/* Seven of eight get exponents from -160 to 139: a little more than f32 has. */
		exponent = 1023 - 160 + (x >> 52 & 2047) * 300 / 2048;
		if (i % 8)
			x = (x & 0x800fffffffffffffULL) | exponent << 52;
		if (!is_right(x))
			return false;
	}
	return true;
}

/* (a + b) / 4 * 3 in f32, also where that is too much for f16 on the way. */
static bool after_a_sum(u32 dtype, double a, double b, double want)
{
	struct coll_after after = {
		.divide = coll_simd_scalar.fn[COLL_F32][COLL_OP_AVG],
		.scale = coll_simd_scalar.fn[COLL_F32][COLL_OP_PREMULSUM],
		.divisor = 4,
	};
	u64 one[2] = { 0x3f800000, 0x3f800000 };
	const struct coll_reduce_arg arg = { .scale = one, .divisor = 4 };
	u64 x[2] = { }, out[2] = { }, expect = 0;
	const void *in[2] = { &x[0], &x[1] };
	void *to[2] = { &out[0], &out[1] };
	u64 room[COLL_WIDE_ROOM / 8];
	float f[3] = { (float)a, (float)b, (float)want };
	const void *wide[3] = { &f[0], &f[1], &f[2] };
	void *narrow[3] = { &x[0], &x[1], &expect };
	struct coll_wide w;
	struct coll_wide_job job = {
		.w = &w, .final = true, .after = &after, .out = to, .nr_out = 2, .in = in,
		.nr_in = 2, .arg = &arg, .room = room,
	};
	u32 k;

	if (!coll_factor(COLL_F32, bits(3), &after.factor) ||
	    !coll_wide_setup(&w, &coll_simd_scalar, COLL_OP_PREMULSUM, dtype))
		return false;
	w.wide_factors = true;
	for (k = 0; k < 3; k++)
		w.narrow(&narrow[k], 1, &wide[k], 1, 1, NULL);
	coll_wide_run(&job, 1);
	nr_checked++;
	return out[0] == expect && out[1] == expect;
}

int main(void)
{
	u64 rnd = tap_seed();

	tap_ok(edges(), "factors at the ends of ranges");
	tap_ok(random_ones(&rnd), "random factors");
	tap_ok(after_a_sum(COLL_F16, 3, 5, 6) && after_a_sum(COLL_F16, 40000, 40000, 60000) &&
	       after_a_sum(COLL_BF16, 3, 5, 6) && after_a_sum(COLL_F8E4M3, 384, 96, 360),
	       "what is divided and multiplied before it is rounded");
	printf("# %llu checked\n", (unsigned long long)nr_checked);
	return tap_done();
}
