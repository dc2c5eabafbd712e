// SPDX-License-Identifier: GPL-2.0
/*
 * collrun ... adasum_rank SEED: one rank of a test of coll_adasum(). Each rank computes what must
 * come out, from the vectors of all ranks, by the tree of whole vectors.
 */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/coll.h>

#define TENSORS	7

static coll_comm_t *comm;
static uint32_t me, size;
static int bad;
static uint64_t state;

static void fail(const char *what, int n)
{
	fprintf(stderr, "rank %u: %s: %d\n", me, what, n);
	bad = 1;
}

/* The same random numbers on all ranks. */
static uint32_t lot(uint32_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(state >> 33) % n;
}

/* Element @i of rank @r: any value, or one that shows a property. */
enum kind { RANDOM, EQUAL, ORTHOGONAL, ZERO_BUT_ONE, NR_KINDS };

static double element(enum kind kind, uint64_t seed, uint32_t r, uint64_t i)
{
	uint64_t h = (seed + i) * 0x9e3779b97f4a7c15ULL + (kind == RANDOM ? r * 77777ULL : 0);
	double value;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL;
	value = (double)(int32_t)(h >> 32) / (1 << 24);
	if (kind == ORTHOGONAL)
		return i % size == r ? value : 0;
	if (kind == ZERO_BUT_ONE)
		return r == size - 1 ? value : 0;
	return value;
}

static void pair(double *a, const double *b, uint64_t n, bool wide)
{
	double aa = 0, bb = 0, ab = 0, fa, fb;
	uint64_t i;

	for (i = 0; i < n; i++) {
		aa += a[i] * a[i];
		bb += b[i] * b[i];
		ab += a[i] * b[i];
	}
	fa = aa > 0 ? 1 - ab / (2 * aa) : 1;
	fb = bb > 0 ? 1 - ab / (2 * bb) : 1;
	for (i = 0; i < n; i++)
		a[i] = wide ? fa * a[i] + fb * b[i] : (double)(float)(fa * a[i] + fb * b[i]);
}

/* The result of one tensor, of @ranks ranks from @r on. @to has room for @n elements. */
static void expected(double *to, enum kind kind, uint64_t seed, uint64_t at, uint64_t n,
		     uint32_t r, uint32_t ranks, bool wide)
{
	double *other;
	uint64_t i;

	if (ranks == 1) {
		for (i = 0; i < n; i++) {
			to[i] = element(kind, seed, r, at + i);
			if (!wide)
				to[i] = (double)(float)to[i];
		}
		return;
	}
	other = malloc((n + 1) * sizeof(*other));
	if (!other)
		exit(3);
	expected(to, kind, seed, at, n, r, ranks / 2, wide);
	expected(other, kind, seed, at, n, r + ranks / 2, ranks / 2, wide);
	pair(to, other, n, wide);
	free(other);
}

static double get(const void *v, uint64_t i, bool wide)
{
	return wide ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

static void put(void *v, uint64_t i, double x, bool wide)
{
	if (wide)
		((double *)v)[i] = x;
	else
		((float *)v)[i] = (float)x;
}

/* The largest difference, in parts of the largest element; sums are made in another order. */
static void compare(const void *got, const uint64_t *counts, enum kind kind, uint64_t seed, bool wide)
{
	double limit = wide ? 1e-13 : 1e-6, most, off, *want;
	uint64_t at = 0, i;
	int t;

	for (t = 0; t < TENSORS; at += counts[t++]) {
		want = malloc((counts[t] + 1) * sizeof(*want));
		if (!want)
			exit(3);
		expected(want, kind, seed, at, counts[t], 0, size, wide);
		for (i = 0, most = 0, off = 0; i < counts[t]; i++) {
			most = fmax(most, fabs(want[i]));
			off = fmax(off, fabs(want[i] - get(got, at + i, wide)));
		}
		if (!(off <= limit * most))
			fail("tensor", t);
		/* A mean of equal vectors; a sum of orthogonal ones */
		for (i = 0; i < counts[t] && kind == EQUAL; i++)
			if (fabs(want[i] - element(kind, seed, 0, at + i)) > limit * most)
				fail("mean", t);
		for (i = 0; i < counts[t] && kind == ORTHOGONAL; i++)
			if (fabs(want[i] - element(kind, seed, (uint32_t)((at + i) % size), at + i)) >
			    limit * most)
				fail("sum", t);
		free(want);
	}
}

static const int roundings[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST };

static void one(int n)
{
	uint64_t counts[TENSORS], total = 0, i, seed = state;
	bool wide = lot(2), in_place = lot(2);
	enum kind kind = lot(NR_KINDS);
	uint32_t most = n % 8 ? 300 : 30000;
	uint64_t *same;
	void *in, *out;
	int t, ret;

	for (t = 0; t < TENSORS; t++) {
		counts[t] = lot(4) ? lot(most) : lot(3);
		total += counts[t];
	}
	in = malloc((total + 1) * 8);
	out = malloc((total + 1) * 8);
	same = malloc((total + 1) * 8);
	if (!in || !out || !same)
		exit(3);
	for (i = 0; i < total; i++) {
		put(in, i, element(kind, seed, me, i), wide);
		put(out, i, element(kind, seed, me, i), wide);
	}
	ret = coll_adasum(comm, in_place ? COLL_IN_PLACE : in, out, counts, TENSORS,
			  wide ? COLL_F64 : COLL_F32);
	if (ret)
		fail(coll_strerror(ret), n);
	else
		compare(out, counts, kind, seed, wide);
	/* The same bits everywhere */
	memcpy(same, out, total * (wide ? 8 : 4));
	ret = coll_broadcast(comm, same, total * (wide ? 8 : 4), COLL_U8, 0);
	if (ret || memcmp(same, out, total * (wide ? 8 : 4)))
		fail("other bits than rank 0", n);
	/* The application's rounding, another one on each rank, makes no difference. */
	fesetround(roundings[me % 4]);
	ret = coll_adasum(comm, in, same, counts, TENSORS, wide ? COLL_F64 : COLL_F32);
	if (fegetround() != roundings[me % 4])
		fail("another rounding than before", n);
	fesetround(FE_TONEAREST);
	if (ret || memcmp(same, out, total * (wide ? 8 : 4)))
		fail("other bits with another rounding", n);
	free(in);
	free(out);
	free(same);
}

/* If the arguments of one rank are wrong, all ranks get an error, and the next call works. */
static void refusals(void)
{
	uint64_t counts[2] = { 3, 4 }, huge[2] = { UINT64_MAX, 1 };
	double v[8] = { 0 };

	if (coll_adasum(comm, me ? v : NULL, v, counts, 2, COLL_F64) != -EINVAL)
		fail("no input", 0);
	if (coll_adasum(comm, COLL_IN_PLACE, v, me == size - 1 ? huge : counts, 2, COLL_F64) !=
	    -EOVERFLOW)
		fail("overflow", 0);
	if (coll_adasum(comm, COLL_IN_PLACE, v, counts, 2, COLL_I32) != -EOPNOTSUPP)
		fail("integers", 0);
	counts[me ? 0 : 1]++;
	if (coll_adasum(comm, COLL_IN_PLACE, v, counts, 2, COLL_F64) != (size > 1 ? -EBADE : 0))
		fail("other counts", 0);
}

int main(int argc, char **argv)
{
	int n, cases = getenv("CASES") ? atoi(getenv("CASES")) : 40;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	if (coll_init(NULL, &comm)) {
		fprintf(stderr, "%s\n", coll_last_error());
		return 2;
	}
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	if (size & (size - 1)) {
		if (coll_adasum(comm, COLL_IN_PLACE, &state, NULL, 0, COLL_F64) != -EOPNOTSUPP)
			fail("no power of 2", 0);
	} else {
		refusals();
		for (n = 0; n < cases && !bad; n++)
			one(n);
	}
	coll_finalize(comm);
	return bad;
}
