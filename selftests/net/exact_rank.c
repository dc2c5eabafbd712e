// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... exact_rank SEED REPEAT: one rank of a test of COLL_OP_SUM_EXACT.
 *
 * PROBLEMS sums of a few floats each, most of them made to cancel, some with
 * infinities, NaNs, subnormal numbers and overflow. All ranks draw the same ones from
 * SEED; the term that a rank contributes to a sum depends on the salt of the job,
 * so that order and placement differ from job to job while the right result, found
 * with GMP's integers, does not. The vector is the problems REPEAT times.
 */
#include <errno.h>
#include <gmp.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coll/coll.h>

#define PROBLEMS	1000
#define MAX_TERMS	32
/* A float in units of 2^-UNIT is an integer. */
#define UNIT		1074

struct format {
	enum coll_dtype dtype;
	size_t size;
	int mant;	/* bits of a significand */
	int low;	/* exponent of the smallest subnormal number */
	int high;	/* the largest number is below 2^high */
};

static const struct format formats[] = {
	{ COLL_F64, 8, 53, -1074, 1024 },
	{ COLL_F32, 4, 24, -149, 128 },
};

static uint64_t state;

static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static double to_format(const struct format *f, double x)
{
	return f->size == 4 ? (double)(float)x : x;
}

/* Random significand and sign, exponent 0 .. @span above @from. */
static double draw_float(const struct format *f, int from, int span)
{
	double m = 1 + (double)(draw() >> (64 - f->mant + 1)) / (1ULL << (f->mant - 1));
	double x = to_format(f, ldexp(m, from + (int)(draw() % (span + 1))));

	return draw() & 1 ? x : -x;
}

static void add_exactly(mpz_t sum, double x)
{
	int e;
	mpz_t t;
	double m = frexp(x, &e);

	if (x == 0)
		return;
	mpz_init_set_d(t, ldexp(m, 53));
	e += UNIT - 53;
	/* In subnormal numbers the low bits are zero. */
	if (e >= 0)
		mpz_mul_2exp(t, t, e);
	else
		mpz_divexact_ui(t, t, 1ULL << -e);
	mpz_add(sum, sum, t);
	mpz_clear(t);
}

/* To nearest, ties to even, as IEEE 754 says: the definition, not a fast way. */
static double rounded(const struct format *f, const mpz_t sum)
{
	int bits = mpz_sizeinbase(sum, 2);
	int cut = bits - f->mant;
	int least = f->low + UNIT;
	double result;
	mpz_t q, r, half;

	if (!mpz_sgn(sum))
		return 0;
	if (cut < least)
		cut = least;
	mpz_inits(q, r, half, NULL);
	mpz_abs(q, sum);
	if (cut > 0) {
		mpz_fdiv_r_2exp(r, q, cut);
		mpz_fdiv_q_2exp(q, q, cut);
		mpz_setbit(half, cut - 1);
		if (mpz_cmp(r, half) > 0 || (!mpz_cmp(r, half) && mpz_odd_p(q)))
			mpz_add_ui(q, q, 1);
	} else {
		cut = 0;
	}
	result = ldexp(mpz_get_d(q), cut - UNIT);
	if (result >= ldexp(1, f->high - 1) * 2)
		result = INFINITY;
	mpz_clears(q, r, half, NULL);
	return mpz_sgn(sum) < 0 ? -result : result;
}

/* The right sum of @n terms; the condition number's logarithm goes to @cond. */
static double right_sum(const struct format *f, const double *term, uint32_t n,
			double *cond)
{
	int plus = 0, minus = 0, nan = 0, minus_zero = 0;
	mpz_t sum, all;
	double result;
	uint32_t k;

	mpz_inits(sum, all, NULL);
	for (k = 0; k < n; k++) {
		nan |= isnan(term[k]) != 0;
		plus |= term[k] == INFINITY;
		minus |= term[k] == -INFINITY;
		minus_zero += term[k] == 0 && signbit(term[k]);
		if (isfinite(term[k])) {
			add_exactly(sum, term[k]);
			add_exactly(all, fabs(term[k]));
		}
	}
	result = rounded(f, sum);
	if (nan || (plus && minus))
		result = NAN;
	else if (plus || minus)
		result = plus ? INFINITY : -INFINITY;
	else if (minus_zero == (int)n)
		result = -0.0;
	else if (mpz_sgn(sum))
		*cond = (mpz_sizeinbase(all, 2) - mpz_sizeinbase(sum, 2)) * log10(2);
	mpz_clears(sum, all, NULL);
	return result;
}

/* The sum of @n terms, rounded: a term that takes it away makes the sum small. */
static double remainder_of(const struct format *f, const double *term, uint32_t n)
{
	double x;
	mpz_t sum;
	uint32_t k;

	mpz_init(sum);
	for (k = 0; k < n; k++)
		add_exactly(sum, term[k]);
	x = rounded(f, sum);
	mpz_clear(sum);
	return x;
}

/*
 * Problem @i of @n terms. Big ones first, then what takes them away again, a
 * significand at a time: where three terms do that 100 bits are gone.
 */
static void draw_problem(const struct format *f, uint32_t i, double *term, uint32_t n)
{
	static const double odd[] = { 0, -0.0, INFINITY, -INFINITY, NAN };
	int span = f->size == 4 ? 90 : 102, from = -(int)(draw() % 100) / 2;
	uint32_t k, take = n / 2 < 4 ? n / 2 : 4;

	for (k = 0; k < n; k++)
		term[k] = draw_float(f, from, span);
	switch (i % 20) {
	case 0:		/* special values */
		for (k = 0; k < n; k++)
			if (draw() & 1)
				term[k] = odd[draw() % 5];
		return;
	case 1:		/* subnormal numbers and their neighbours */
		for (k = 0; k < n; k++)
			term[k] = draw_float(f, f->low, f->mant + 2);
		return;
	case 2:		/* the largest ones */
		for (k = 0; k < n; k++)
			term[k] = draw_float(f, f->high - 3, 2);
		return;
	case 3:		/* zeros of both signs, mostly negative */
		for (k = 0; k < n; k++)
			term[k] = draw() % (4 * n) ? -0.0 : 0;
		return;
	case 4:		/* a tie, and perhaps a speck that breaks it */
		for (k = 0; k < n; k++)
			term[k] = 0;
		term[0] = 1 + 2 * (double)(draw() & 1) * ldexp(1, -f->mant);
		if (n > 1)
			term[1] = ldexp(1, -f->mant);
		if (n > 2)
			term[2] = (double)((int)(draw() % 3) - 1) * ldexp(1, f->low);
		return;
	}
	for (k = n - take; k < n; k++)
		term[k] = -remainder_of(f, term, k);
	/* and a little of what is to remain */
	if (n > 2 && i % 2)
		term[draw() % (n - take)] += draw_float(f, from - 2, 0);
	for (k = 0; k < n; k++)
		term[k] = to_format(f, term[k]);
}

static void put(const struct format *f, void *v, uint64_t i, double x)
{
	if (f->size == 4)
		((float *)v)[i] = x;
	else
		((double *)v)[i] = x;
}

/* Is the element bit by bit @want? A NaN must be the one NaN of the type. */
static bool same(const struct format *f, const void *v, uint64_t i, double want)
{
	static const uint64_t nan64 = 0x7ff8000000000000ULL;
	static const uint32_t nan32 = 0x7fc00000;
	double d = want;
	float s = want;

	if (f->size == 4)
		return !memcmp((const float *)v + i, isnan(want) ? (void *)&nan32 :
			       (void *)&s, 4);
	return !memcmp((const double *)v + i, isnan(want) ? (void *)&nan64 : (void *)&d, 8);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Seconds of one allreduce, the best of three. */
static double cost(coll_comm_t *c, const struct format *f, const void *in, void *out,
		   uint64_t count, enum coll_op_code op)
{
	double best = 1e9, t;
	int i;

	for (i = 0; i < 3; i++) {
		if (coll_barrier(c))
			return 0;
		t = seconds();
		if (coll_allreduce(c, in, out, count, f->dtype, op))
			return 0;
		t = seconds() - t;
		best = t < best ? t : best;
	}
	return best;
}

/* Returns the number of wrong elements, or a negative errno. */
static int run(coll_comm_t *c, const struct format *f, uint64_t seed, uint32_t repeat)
{
	uint32_t me = coll_comm_rank(c), size = coll_comm_size(c), i, r;
	uint32_t terms = size < MAX_TERMS ? size : MAX_TERMS, n;
	uint64_t count = (uint64_t)PROBLEMS * repeat, salt = size * 64 + coll_comm_nodes(c);
	static double want[PROBLEMS];
	double term[MAX_TERMS], cond = 0, worst = 0, plain, exact;
	void *in = malloc(count * f->size), *out = malloc(count * f->size);
	int ret = -ENOMEM, wrong = 0;

	if (!in || !out)
		goto out;
	for (i = 0; i < PROBLEMS; i++) {
		state = seed + i;
		n = 1 + draw() % terms;
		draw_problem(f, i, term, n);
		want[i] = right_sum(f, term, n, &cond);
		worst = cond > worst ? cond : worst;
		/* A rotation gives terms to ranks. A rank without a term gives -0: no change. */
		r = (me + size - (uint32_t)((i + salt) % size)) % size;
		for (uint32_t k = 0; k < repeat; k++)
			put(f, in, (uint64_t)k * PROBLEMS + i, r < n ? term[r] : -0.0);
	}
	ret = coll_allreduce(c, in, out, count, f->dtype, COLL_OP_SUM_EXACT);
	for (uint64_t e = 0; !ret && e < count; e++)
		wrong += !same(f, out, e, want[e % PROBLEMS]);
	if (ret)
		goto out;
	plain = cost(c, f, in, out, count, COLL_OP_SUM);
	exact = cost(c, f, in, out, count, COLL_OP_SUM_EXACT);
	if (!me)
		printf("# f%zu: %u ranks, %u nodes, %llu sums, condition up to 1e%.0f, %d wrong, %.1f times the time of a sum\n",
		       8 * f->size, size, coll_comm_nodes(c), (unsigned long long)count,
		       worst, wrong, exact / plain);
	ret = wrong;
out:
	free(in);
	free(out);
	return ret;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint32_t repeat = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	coll_comm_t *c;
	int ret = coll_init(NULL, &c);
	size_t i;

	for (i = 0; !ret && i < sizeof(formats) / sizeof(formats[0]); i++)
		ret = run(c, &formats[i], seed, repeat);
	if (ret < 0)
		fprintf(stderr, "exact_rank: %s\n", coll_strerror(ret));
	else if (ret > 0)
		fprintf(stderr, "exact_rank: %d wrong sums\n", ret);
	return ret != 0;
}
