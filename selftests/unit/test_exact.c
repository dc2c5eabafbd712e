// SPDX-License-Identifier: GPL-2.0
/*
 * Exact sums against GMP: ill-conditioned vectors, cut into partial sums anywhere and
 * in any order, ties, ends of ranges, infinities; and accumulators full of garbage.
 */
#include <math.h>
#include <string.h>

#include "ref_exact.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_TERMS	300
#define MAX_WORDS	COLL_EXACT_WORDS_F64
#define VECTORS		1000
#define SPLITS		6

static u64 rnd, nr_checked;
static double worst;	/* log2 of the largest condition number */

/* --- calls of the kernels ----------------------------------------------------- */

/*
 * A sum by the kernels, its terms cut at random: groups become accumulators, some
 * fold others, and the last call takes what is left. One element, at odd addresses.
 */
static u8 acc[COLL_SIMD_MAX][MAX_WORDS * 8 + 1];

static void call(coll_reduce_fn *fn, void *result, u32 nr_acc, const u64 *term, u32 nr)
{
	struct coll_reduce_arg arg = { .nr_folded = nr_acc };
	u8 terms[COLL_SIMD_MAX][8 + 1];
	const void *in[COLL_SIMD_MAX];
	void *out[1] = { result };
	u32 k;

	for (k = 0; k < nr_acc; k++)
		in[k] = acc[k] + 1;
	for (k = 0; k < nr; k++)
		in[nr_acc + k] = memcpy(terms[k] + 1, &term[k], t->bytes);
	fn(out, 1, in, nr_acc + nr, 1, nr_acc || tap_random(&rnd) & 1 ? &arg : NULL);
}

static u64 split_sum(const u64 *term, u32 nr, bool *direct)
{
	u8 result[MAX_WORDS * 8 + 1], out[8 + 1];
	u32 done = 0, nr_acc = 0, take;
	u64 v = 0;

	*direct = true;
	for (;;) {
		take = tap_random(&rnd) % (COLL_SIMD_MAX - nr_acc + 1);
		if (take > nr - done)
			take = nr - done;
		if (done + take == nr && tap_random(&rnd) % 4)
			break;
		if (!take && !nr_acc)
			continue;
		/* make a further accumulator of the terms, or one of them and all accumulators */
		if (nr_acc == 20 || (nr_acc && tap_random(&rnd) % 4 == 0) || !take) {
			call(t->part, result + 1, nr_acc, term + done, take);
			nr_acc = 0;
		} else {
			call(t->part, result + 1, 0, term + done, take);
		}
		memcpy(acc[nr_acc++], result, sizeof(result));
		*direct = false;
		done += take;
	}
	call(t->sum, out + 1, nr_acc, term + done, nr - done);
	memcpy(&v, out + 1, t->bytes);
	return v;
}

static void shuffle(u64 *term, u32 nr)
{
	u32 i, k;
	u64 v;

	for (i = nr; i > 1; i--) {
		k = tap_random(&rnd) % i;
		v = term[k];
		term[k] = term[i - 1];
		term[i - 1] = v;
	}
}

/* Are sums of these terms right, whatever their order is and wherever they are cut? */
static bool sum_ok(u64 *term, u32 nr)
{
	u64 want = expected(term, nr), got;
	bool direct;
	u32 i;

	for (i = 0; i < SPLITS; i++) {
		got = split_sum(term, nr, &direct);
		nr_checked++;
		/* a single input is its own sum, whatever it is: see reduce.h */
		if (nr == 1 && direct && got == term[0])
			continue;
		if (got != want) {
			printf("# %s: a sum of %u is %llx, not %llx; the first: %llx %llx\n",
			       t->name, nr, (unsigned long long)got, (unsigned long long)want,
			       (unsigned long long)term[0], (unsigned long long)term[nr - 1]);
			return false;
		}
		shuffle(term, nr);
	}
	return true;
}

/* --- ill-conditioned vectors -------------------------------------------------- */

static u64 random_near(int e, u32 spread)
{
	u64 v = power(e + (int)(tap_random(&rnd) % (spread + 1)));

	return (v | tap_random(&rnd) >> (65 - t->digits)) ^
	       (tap_random(&rnd) & sign_bit());
}

/* log2 of the sum of absolute values over the absolute sum */
static double condition(const u64 *term, u32 nr)
{
	double result = 0;
	mpz_t sum, all, z;
	long e, e_all;
	u32 i;

	mpz_inits(sum, all, z, NULL);
	for (i = 0; i < nr; i++) {
		to_integer(z, term[i]);
		mpz_add(sum, sum, z);
		mpz_abs(z, z);
		mpz_add(all, all, z);
	}
	if (mpz_sgn(sum)) {
		result = log2(mpz_get_d_2exp(&e_all, all));
		result -= log2(fabs(mpz_get_d_2exp(&e, sum)));
		result += e_all - e;
	}
	mpz_clears(sum, all, z, NULL);
	return result;
}

/*
 * Random terms over 2^bits, then such as cancel the leading digits of their sum, until
 * about 2^-bits of it is left.
 */
static u32 ill_conditioned(u64 *term, u32 bits)
{
	u32 nr, half = 1 + tap_random(&rnd) % (MAX_TERMS / 2 - 8), spread = bits;
	mpz_t sum, z;
	long start;

	mpz_inits(sum, z, NULL);
	for (nr = 0; nr < half; nr++) {
		term[nr] = random_near(-(int)bits / 2, spread);
		to_integer(z, term[nr]);
		mpz_add(sum, sum, z);
	}
	start = mpz_sizeinbase(sum, 2);
	while (nr < MAX_TERMS - 1 && mpz_sgn(sum) &&
	       (long)mpz_sizeinbase(sum, 2) > start - (long)bits) {
		term[nr] = rounded(sum) ^ sign_bit();
		to_integer(z, term[nr++]);
		mpz_add(sum, sum, z);
	}
	if (!mpz_sgn(sum))
		term[nr++] = random_near(-(int)bits / 2 - t->digits, 2);
	mpz_clears(sum, z, NULL);
	shuffle(term, nr);
	return nr;
}

static void test_ill_conditioned(void)
{
	static u64 term[MAX_TERMS];
	bool ok = true;
	u32 i, nr;

	worst = 0;
	for (i = 0; i < VECTORS; i++) {
		nr = ill_conditioned(term, i * 105 / VECTORS);
		worst = fmax(worst, condition(term, nr));
		ok &= sum_ok(term, nr);
	}
	/* 1e30 is 2^99.66 */
	printf("# %s: condition numbers up to 2^%.1f\n", t->name, worst);
	tap_ok(ok && worst > 99.7, "%s: %d ill-conditioned sums", t->name, VECTORS);
}

/* All terms of an op are equal, except for one that is 2^distance smaller. */
static void test_distances(void)
{
	u64 term[COLL_SIMD_MAX], big, odd;
	int distance, k, nr;
	bool ok = true;

	for (distance = 0; distance <= 128; distance++) {
		big = power(distance / 2 + 1) - 1;	/* all ones */
		odd = power(distance / 2 - distance) | 1;
		for (nr = 2; nr <= COLL_SIMD_MAX; nr += nr < 60 ? 7 : 1) {
			for (k = 0; k < nr; k++)
				term[k] = k ? big : odd;
			ok &= sum_ok(term, nr);
			for (k = 0; k < nr; k++)
				term[k] ^= sign_bit();
			ok &= sum_ok(term, nr);
		}
	}
	tap_ok(ok, "%s: large numbers and a small one", t->name);
}

/* Any bits at all, NaNs and infinities among them or not. */
static void test_random(void)
{
	u64 term[MAX_TERMS], one = encode(false, 1, 0);
	u32 i, k, nr;
	bool ok = true;

	for (i = 0; i < 4000; i++) {
		nr = 1 + tap_random(&rnd) % 20;
		for (k = 0; k < nr; k++) {
			term[k] = tap_random(&rnd) >> (64 - 8 * t->bytes);
			if (i % 4 && exponent_of(term[k]) == (u64)t->exponents)
				term[k] ^= one;
			if (i % 4 == 2)		/* about the least normal number */
				term[k] &= sign_bit() | (4 * one - 1);
			if (i % 4 == 3)		/* about the largest */
				term[k] |= largest(false) & ~(2 * one - 1);
			if (i % 4 == 3 && exponent_of(term[k]) == (u64)t->exponents)
				term[k] ^= one;
		}
		ok &= sum_ok(term, nr);
	}
	tap_ok(ok, "%s: sums of any bits, of tiny and of huge numbers", t->name);
}

/* --- chosen sums -------------------------------------------------------------- */

static u64 negative(u64 v)
{
	return v | sign_bit();
}

static void test_ties(void)
{
	int d = t->digits, e;
	bool ok = true;
	u64 tiny = 1, odd;

	/*
	 * Ties: half of the last digit of 2^e, and of the odd number above it. A bit far
	 * below decides them.
	 */
	for (e = -20; e < t->exponents / 2; e += 7) {
		odd = power(e) + 1;
		ok &= sum_ok((u64[]){ power(e), power(e - d) }, 2);
		ok &= sum_ok((u64[]){ power(e), power(e - d), tiny }, 3);
		ok &= sum_ok((u64[]){ power(e), power(e - d), negative(tiny) }, 3);
		ok &= sum_ok((u64[]){ odd, power(e - d) }, 2);
		ok &= sum_ok((u64[]){ odd, power(e - d), negative(tiny) }, 3);
		ok &= sum_ok((u64[]){ odd, power(e - d), tiny }, 3);
		ok &= sum_ok((u64[]){ power(e), negative(power(e - d - 1)) }, 2);
		ok &= sum_ok((u64[]){ power(e), negative(power(e - d - 1)), tiny }, 3);
		ok &= sum_ok((u64[]){ negative(odd), negative(power(e - d)), tiny }, 3);
		ok &= sum_ok((u64[]){ power(e) - 1, power(e - d - 1) }, 2);	/* carries */
	}
	tap_ok(ok, "%s: ties, and what breaks them", t->name);
}

static void test_ends(void)
{
	u64 max = largest(false), half = power(t->exponents / 2 - t->digits);
	u64 inf = infinity(false), zero = 0, minus = sign_bit(), least = encode(false, 1, 0);
	u64 nan = not_a_number() | 5, signalling = inf | 1;
	bool ok = true;

	ok &= sum_ok((u64[]){ max, half }, 2);			/* a tie: infinite */
	ok &= sum_ok((u64[]){ max, half, negative(1) }, 3);	/* just less: the largest */
	ok &= sum_ok((u64[]){ max, half, 1 }, 3);
	ok &= sum_ok((u64[]){ max, max, negative(max) }, 3);
	ok &= sum_ok((u64[]){ max, max, max, negative(1) }, 4);
	ok &= sum_ok((u64[]){ negative(max), negative(half) }, 2);
	ok &= sum_ok((u64[]){ negative(max), negative(half), 1 }, 3);
	ok &= sum_ok((u64[]){ least, negative(1) }, 2);
	ok &= sum_ok((u64[]){ least - 1, 1 }, 2);
	ok &= sum_ok((u64[]){ 1, 1, negative(1) }, 3);
	tap_ok(ok, "%s: overflow, and denormals", t->name);

	ok = sum_ok((u64[]){ zero }, 1) && sum_ok((u64[]){ minus }, 1) &&
	     sum_ok((u64[]){ minus, minus, minus }, 3) &&
	     sum_ok((u64[]){ minus, zero }, 2) && sum_ok((u64[]){ 1, negative(1) }, 2) &&
	     sum_ok((u64[]){ minus, 1, minus, negative(1) }, 4);
	tap_ok(ok, "%s: signs of zero", t->name);

	ok = sum_ok((u64[]){ inf }, 1) && sum_ok((u64[]){ inf, max, negative(max) }, 3) &&
	     sum_ok((u64[]){ negative(inf), max, max, max }, 4) &&
	     sum_ok((u64[]){ inf, negative(inf) }, 2) &&
	     sum_ok((u64[]){ inf, negative(inf), minus }, 3) &&
	     sum_ok((u64[]){ nan }, 1) && sum_ok((u64[]){ negative(nan), inf }, 2) &&
	     sum_ok((u64[]){ signalling, 1 }, 2) && sum_ok((u64[]){ nan, zero, minus }, 3);
	tap_ok(ok, "%s: infinities and NaNs", t->name);
}

/* --- accumulators ------------------------------------------------------------- */

static void load(mpz_t z, const u8 *p)
{
	mpz_import(z, t->words - 1, -1, 8, -1, 0, p);
	if (mpz_tstbit(z, 64 * (t->words - 1) - 1)) {
		mpz_t all;

		mpz_init(all);
		mpz_setbit(all, 64 * (t->words - 1));
		mpz_sub(z, z, all);
		mpz_clear(all);
	}
}

static u64 flags_of(const u8 *p)
{
	u64 flags;

	memcpy(&flags, p + 8 * (t->words - 1), 8);
	return flags;
}

/* The content of a partial sum: the number and the flags that exact.h describes. */
static bool part_ok(const u64 *term, u32 nr)
{
	u8 result[MAX_WORDS * 8 + 1];
	u64 flags = 0;
	mpz_t sum, z;
	bool ok;
	u32 i;

	mpz_inits(sum, z, NULL);
	for (i = 0; i < nr; i++) {
		flags |= term[i] == sign_bit() ? 0 : 8;
		if (exponent_of(term[i]) < (u64)t->exponents) {
			to_integer(z, term[i]);
			mpz_add(sum, sum, z);
		} else if (term[i] == infinity(false)) {
			flags |= 2;
		} else {
			flags |= term[i] == infinity(true) ? 4 : 1;
		}
	}
	call(t->part, result + 1, 0, term, nr);
	load(z, result + 1);
	ok = !mpz_cmp(z, sum) && (flags_of(result + 1) & 15) == flags;
	mpz_clears(sum, z, NULL);
	nr_checked++;
	return ok;
}

static void test_parts(void)
{
	u64 term[COLL_SIMD_MAX];
	bool ok = true;
	u32 i, k, nr;

	for (i = 0; i < 2000; i++) {
		nr = 1 + tap_random(&rnd) % COLL_SIMD_MAX;
		for (k = 0; k < nr; k++)
			term[k] = i % 16 ? tap_random(&rnd) >> (64 - 8 * t->bytes) : sign_bit();
		ok &= part_ok(term, nr);
	}
	tap_ok(ok, "%s: partial sums are what their description says", t->name);
}

/* Add 2^n of the largest number, and subtract all but one of them again. */
static void test_room(void)
{
	u64 max = largest(false), low = largest(true), got = 0;
	u32 i, n = t->bytes == 8 ? 10 : 42;
	u8 up[MAX_WORDS * 8 + 1], down[MAX_WORDS * 8 + 1];

	call(t->part, up + 1, 0, &max, 1);
	call(t->part, down + 1, 0, (u64[]){ low, max }, 2);
	for (i = 0; i < n; i++) {
		/* up: 2 up; down: 2 down - max */
		memcpy(acc[0], up, sizeof(up));
		memcpy(acc[1], up, sizeof(up));
		call(t->part, up + 1, 2, NULL, 0);
		memcpy(acc[0], down, sizeof(down));
		memcpy(acc[1], down, sizeof(down));
		call(t->part, down + 1, 2, &low, 1);
	}
	memcpy(acc[0], up, sizeof(up));
	memcpy(acc[1], down, sizeof(down));
	call(t->sum, &got, 2, NULL, 0);
	tap_ok(got == max, "%s: room for 2^%u of the largest", t->name, n);
}

/* Every pattern is a number; sums of them wrap. */
static bool garbage_ok(u32 nr, u32 nr_terms)
{
	u64 term[COLL_SIMD_MAX], r, flags = 0, got = 0, want;
	u32 k, i, bits = 64 * (t->words - 1);
	u8 packed[MAX_WORDS * 8];
	mpz_t sum, z;

	mpz_inits(sum, z, NULL);
	for (k = 0; k < nr; k++) {
		for (i = 0; i < t->words; i++) {
			r = tap_random(&rnd);
			r = r % 5 == 0 ? 0 : r % 5 == 1 ? ~0ULL : r;
			if (i == t->words - 1 && r >> 62)
				r &= ~7ULL;
			memcpy(acc[k] + 1 + 8 * i, &r, 8);
		}
		flags |= flags_of(acc[k] + 1);
		load(z, acc[k] + 1);
		mpz_add(sum, sum, z);
	}
	for (k = 0; k < nr_terms; k++) {
		term[k] = random_near(-20, 40);
		to_integer(z, term[k]);
		mpz_add(sum, sum, z);
	}
	mpz_fdiv_r_2exp(sum, sum, bits);
	memset(packed, 0, sizeof(packed));
	mpz_export(packed, NULL, -1, 8, -1, 0, sum);
	load(sum, packed);
	want = mpz_sgn(sum) ? rounded(sum) : flags & 8 || nr_terms ? 0 : sign_bit();
	if (flags & 1 || (flags & 6) == 6)
		want = not_a_number();
	else if (flags & 6)
		want = infinity(flags & 4);
	mpz_clears(sum, z, NULL);
	call(t->sum, &got, nr, term, nr_terms);
	nr_checked++;
	return got == want;
}

static void test_garbage(void)
{
	bool ok = true;
	u32 i;

	for (i = 0; i < 20000; i++)
		ok &= garbage_ok(1 + i % 5, i % 3);
	tap_ok(ok, "%s: accumulators of any bits", t->name);
}

/* --- vectors ------------------------------------------------------------------ */

/* Several elements, several outputs, in place; blocks of their own, for ASan. */
static bool vectors_ok(u32 nr, u32 count, u32 nr_acc, bool part, bool in_place)
{
	u32 acc_bytes = t->words * 8, out_bytes = part ? acc_bytes : t->bytes, i, k;
	struct coll_reduce_arg arg = { .nr_folded = nr_acc };
	void *out[2], *own[2], *in[8];
	u8 want[MAX_WORDS * 8];
	bool ok = true;
	u64 v;

	for (k = 0; k < nr; k++) {
		in[k] = malloc(count * (k < nr_acc ? acc_bytes : t->bytes));
		for (i = 0; i < count; i++) {
			v = random_near(-50, 100);
			if (k >= nr_acc)
				memcpy((u8 *)in[k] + i * t->bytes, &v, t->bytes);
			else
				call(t->part, (u8 *)in[k] + i * acc_bytes, 0, &v, 1);
		}
	}
	own[0] = malloc(count * out_bytes);
	own[1] = malloc(count * out_bytes);
	out[0] = own[0];
	out[1] = in_place ? in[part ? 0 : nr - 1] : own[1];
	u8 *expect = malloc(count * out_bytes);

	for (i = 0; i < count; i++) {	/* one by one, the way that was tested above */
		u64 term[8];

		for (k = 0; k < nr; k++) {
			if (k < nr_acc)
				memcpy(acc[k] + 1, (u8 *)in[k] + i * acc_bytes, acc_bytes);
			else
				memcpy(&term[k - nr_acc], (u8 *)in[k] + i * t->bytes, t->bytes);
		}
		call(part ? t->part : t->sum, want, nr_acc, term, nr - nr_acc);
		memcpy(expect + i * out_bytes, want, out_bytes);
	}
	(part ? t->part : t->sum)(out, 2, (const void *const *)in, nr, count, &arg);
	for (k = 0; k < 2; k++)
		ok &= !memcmp(out[k], expect, count * out_bytes);
	nr_checked += count;
	for (k = 0; k < nr; k++)
		free(in[k]);
	free(own[0]);
	free(own[1]);
	free(expect);
	return ok;
}

static void test_vectors(void)
{
	u32 nr, nr_acc, count;
	bool ok = true;

	for (nr = 1; nr <= 8; nr++) {
		for (nr_acc = 0; nr_acc <= nr; nr_acc++) {
			for (count = 0; count < 12; count++) {
				ok &= vectors_ok(nr, count, nr_acc, false, nr_acc < nr);
				ok &= vectors_ok(nr, count, nr_acc, true, nr_acc);
			}
		}
	}
	tap_ok(ok, "%s: vectors, two outputs, in place", t->name);
}

int main(void)
{
	rnd = tap_seed();
	for (t = exact_kinds; t < exact_kinds + COUNT(exact_kinds); t++) {
		tap_ok(coll_exact_size(t->dtype) == t->words * 8, "%s: size", t->name);
		test_ill_conditioned();
		test_distances();
		test_random();
		test_ties();
		test_ends();
		test_parts();
		test_room();
		test_garbage();
		test_vectors();
	}
	tap_ok(!coll_exact_size(COLL_F16) && !coll_exact_size(COLL_LDOUBLE) &&
	       !coll_exact_size(0) && !coll_exact_size(~0U), "no size of other types");
	printf("# %llu exact sums checked\n", (unsigned long long)nr_checked);
	return tap_done();
}
