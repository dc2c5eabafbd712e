// SPDX-License-Identifier: GPL-2.0
/* Exact sums of floats by GMP, and the encodings of floats. */
#include "ref_exact.h"

const struct kind exact_kinds[2] = {
	{ "f32", COLL_F32, 4, 24, -149, 255, COLL_EXACT_WORDS_F32,
	  coll_exact_sum_f32, coll_exact_part_f32 },
	{ "f64", COLL_F64, 8, 53, -1074, 2047, COLL_EXACT_WORDS_F64,
	  coll_exact_sum_f64, coll_exact_part_f64 },
};

const struct kind *t;

u64 sign_bit(void)
{
	return 1ULL << (8 * t->bytes - 1);
}

u64 encode(bool neg, u64 exponent, u64 fraction)
{
	return (neg ? sign_bit() : 0) | exponent << (t->digits - 1) | fraction;
}

u64 infinity(bool neg)
{
	return encode(neg, t->exponents, 0);
}

u64 not_a_number(void)
{
	return encode(false, t->exponents, 1ULL << (t->digits - 2));
}

u64 largest(bool neg)
{
	return infinity(neg) - 1;
}

u64 exponent_of(u64 v)
{
	return (v & ~sign_bit()) >> (t->digits - 1);
}

/* 2^e */
u64 power(int e)
{
	int biased = e - t->unit - t->digits + 2;

	return biased > 0 ? encode(false, biased, 0) : 1ULL << (e - t->unit);
}

/* A finite v, in units of the least denormal. */
void to_integer(mpz_t z, u64 v)
{
	u64 exponent = exponent_of(v), m = v & ((1ULL << (t->digits - 1)) - 1);

	mpz_set_ui(z, exponent ? m | 1ULL << (t->digits - 1) : m);
	mpz_mul_2exp(z, z, exponent ? exponent - 1 : 0);
	if (v & sign_bit())
		mpz_neg(z, z);
}

/* The nearest float, of two the even one; z is not 0. */
u64 rounded(const mpz_t z)
{
	bool neg = mpz_sgn(z) < 0;
	mpz_t q, r, half;
	long drop;
	u64 v;

	mpz_inits(q, r, half, NULL);
	mpz_abs(q, z);
	drop = (long)mpz_sizeinbase(q, 2) - t->digits;
	if (drop > 0) {
		mpz_fdiv_r_2exp(r, q, drop);
		mpz_fdiv_q_2exp(q, q, drop);
		mpz_setbit(half, drop - 1);
		if (mpz_cmp(r, half) > 0 || (!mpz_cmp(r, half) && mpz_odd_p(q)))
			mpz_add_ui(q, q, 1);
	}
	/* a normal number's first digit counts as one exponent, a carry as another */
	v = mpz_get_ui(q);
	if (drop > 0)
		v += (u64)drop << (t->digits - 1);
	if (v > largest(false))
		v = infinity(false);
	mpz_clears(q, r, half, NULL);
	return neg ? v | sign_bit() : v;
}

/* The expected result for these terms, after exact.h. */
u64 expected(const u64 *term, u32 nr)
{
	bool nan = false, plus = false, minus = false, all_negative_zero = true;
	mpz_t sum, z;
	u64 v;
	u32 i;

	mpz_inits(sum, z, NULL);
	for (i = 0; i < nr; i++) {
		all_negative_zero &= term[i] == sign_bit();
		if (exponent_of(term[i]) < (u64)t->exponents) {
			to_integer(z, term[i]);
			mpz_add(sum, sum, z);
		} else if (term[i] == infinity(false)) {
			plus = true;
		} else if (term[i] == infinity(true)) {
			minus = true;
		} else {
			nan = true;
		}
	}
	v = all_negative_zero ? sign_bit() : mpz_sgn(sum) ? rounded(sum) : 0;
	mpz_clears(sum, z, NULL);
	if (nan || (plus && minus))
		return not_a_number();
	return plus || minus ? infinity(minus) : v;
}
