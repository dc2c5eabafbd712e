// SPDX-License-Identifier: GPL-2.0
/*
 * k-means over several ranks: every iteration assigns the rank's own rows to
 * the nearest centroid, sums up coordinates and counts for each of them, adds
 * these sums over all ranks with one allreduce, and moves the centroids. Rank 0
 * decides when it is enough.
 *
 * The result does not depend on how many ranks there are, not in the last bit.
 * Floating-point sums usually depend on the order of their terms; these do not,
 * because every term is first rounded to a grid so coarse (a power of two, from
 * the number of rows and the largest value) that no partial sum, in whatever
 * order, needs more than the 53 bits of a double. All additions are then exact.
 * The rounding is at most rows * 2^-52 of the largest value, far below what is
 * printed. So no assignment and no stop criterion can flip either.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coll/coll.h>

#define LINE_BYTES	65536

/**
 * struct kmeans - the job as one rank sees it
 * @rows: in all; of these @first .. @first + @mine - 1 are ours
 * @dims: coordinates of a row
 * @x: our rows
 * @chosen: rank 0: the rows that the centroids start from
 * @centroids: @k x @dims
 * @sums: for each centroid @dims coordinates and a count, then the inertia
 * @grid: what coordinates are rounded to; @grid2: what squares are rounded to
 */
struct kmeans {
	coll_comm_t *comm;
	uint32_t k, dims, max_iters, seed;
	uint64_t rows, first, mine;
	double tolerance, grid, grid2;
	double *x, *centroids, *sums;
	uint64_t *chosen;
};

static int fail(const char *what, int err)
{
	fprintf(stderr, "kmeans: %s: %s\n", what, coll_strerror(err));
	return -1;
}

static void *array(uint64_t n, uint64_t m, size_t size)
{
	uint64_t bytes = 0;
	void *p = NULL;

	if (!__builtin_mul_overflow(n, m, &bytes) && !__builtin_mul_overflow(bytes, size, &bytes))
		p = calloc(1, bytes ? bytes : 1);
	if (!p) {
		fprintf(stderr, "kmeans: out of memory\n");
		exit(1);
	}
	return p;
}

/* xorshift: small, and the same everywhere. */
static uint32_t draw(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* k different rows, from the seed alone. */
static void choose_rows(struct kmeans *km)
{
	uint32_t state = km->seed * 2654435761U + 1;
	uint32_t i, j;

	if (!state)
		state = 1;
	for (i = 0; i < km->k; i++) {
		do {
			km->chosen[i] = draw(&state) % km->rows;
			for (j = 0; j < i && km->chosen[j] != km->chosen[i]; j++)
				;
		} while (j < i);
	}
}

/* A row of @dims numbers; what follows them (a label) is not looked at. */
static int parse_row(const char *line, uint32_t dims, double *x)
{
	const char *s = line;
	uint32_t i;
	char *end;

	for (i = 0; i < dims; i++) {
		x[i] = strtod(s, &end);
		if (end == s || !isfinite(x[i]) || (*end != ',' && i + 1 < dims))
			return -1;
		s = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static void take_row(struct kmeans *km, uint64_t row, const double *x)
{
	uint32_t i;

	if (row >= km->first && row - km->first < km->mine)
		memcpy(km->x + (row - km->first) * km->dims, x, km->dims * sizeof(*x));
	for (i = 0; i < km->k; i++)
		if (km->chosen[i] == row)
			memcpy(km->centroids + (uint64_t)i * km->dims, x,
			       km->dims * sizeof(*x));
}

/* The finest power of two on which sums of @n terms up to @max are exact. */
static double finest_grid(double n, double max)
{
	int exponent;

	frexp(n * max, &exponent);
	return ldexp(1.0, exponent - 52);	/* one bit for the rounding */
}

static double on_grid(double v, double grid)
{
	return nearbyint(v / grid) * grid;
}

static void plan(struct kmeans *km, uint64_t rows, uint32_t dims)
{
	uint64_t rank = coll_comm_rank(km->comm), size = coll_comm_size(km->comm);

	km->rows = rows;
	km->dims = dims;
	km->first = rows * rank / size;
	km->mine = rows * (rank + 1) / size - km->first;
	km->x = array(km->mine, dims, sizeof(double));
	km->centroids = array(km->k, dims, sizeof(double));
	km->sums = array((uint64_t)km->k * (dims + 1) + 1, 1, sizeof(double));
	km->chosen = array(km->k, 1, sizeof(*km->chosen));
	choose_rows(km);
}

/* First line: rows,columns,names...; then the rows. */
static int load(struct kmeans *km, FILE *f, char *line)
{
	unsigned long long rows;
	double *x, max = 0;
	uint64_t row;
	unsigned int dims, i;

	if (!fgets(line, LINE_BYTES, f) || sscanf(line, "%llu,%u", &rows, &dims) != 2 ||
	    !dims || dims > 10000 || rows < km->k || rows > 1ULL << 40)
		return -1;
	plan(km, rows, dims);
	x = array(dims, 1, sizeof(double));
	for (row = 0; row < rows; row++) {
		if (!fgets(line, LINE_BYTES, f) || parse_row(line, dims, x))
			break;
		for (i = 0; i < dims; i++)
			max = fmax(max, fabs(x[i]));
		take_row(km, row, x);
	}
	free(x);
	if (row < rows)
		return -1;
	km->grid = finest_grid((double)rows, max > 0 ? max : 1);
	km->grid2 = finest_grid((double)rows, max > 0 ? 4 * max * max * dims : 1);
	for (row = 0; row < km->mine * dims; row++)
		km->x[row] = on_grid(km->x[row], km->grid);
	return 0;
}

static int load_file(struct kmeans *km, const char *path)
{
	char *line = array(LINE_BYTES, 1, 1);
	FILE *f = fopen(path, "r");
	int ret;

	if (!f) {
		fprintf(stderr, "kmeans: %s: %s\n", path, strerror(errno));
		free(line);
		return -1;
	}
	ret = load(km, f, line);
	if (ret)
		fprintf(stderr, "kmeans: %s: not a table of numbers with k rows or more\n", path);
	fclose(f);
	free(line);
	return ret;
}

/* Our rows' share of the sums. */
static void assign(struct kmeans *km)
{
	uint32_t width = km->dims + 1, c, d, best;
	uint64_t row;

	memset(km->sums, 0, ((uint64_t)km->k * width + 1) * sizeof(double));
	for (row = 0; row < km->mine; row++) {
		const double *x = km->x + row * km->dims;
		double least = INFINITY;

		for (c = best = 0; c < km->k; c++) {
			const double *to = km->centroids + (uint64_t)c * km->dims;
			double sq = 0;

			for (d = 0; d < km->dims; d++)
				sq += (x[d] - to[d]) * (x[d] - to[d]);
			if (sq < least) {
				least = sq;
				best = c;
			}
		}
		for (d = 0; d < km->dims; d++)
			km->sums[best * width + d] += x[d];
		km->sums[best * width + km->dims] += 1;
		km->sums[km->k * width] += on_grid(least, km->grid2);
	}
}

/* Move the centroids; returns how far the farthest went, squared. */
static double update(struct kmeans *km)
{
	uint32_t width = km->dims + 1, c, d;
	double farthest = 0;

	for (c = 0; c < km->k; c++) {
		double n = km->sums[c * width + km->dims], way = 0;

		if (n == 0)
			continue;	/* nobody is nearest: stay */
		for (d = 0; d < km->dims; d++) {
			double *to = &km->centroids[c * km->dims + d];
			double mean = km->sums[c * width + d] / n;

			way += (mean - *to) * (mean - *to);
			*to = mean;
		}
		farthest = fmax(farthest, way);
	}
	return farthest;
}

static int iterate(struct kmeans *km, uint32_t *iters)
{
	uint64_t len = (uint64_t)km->k * (km->dims + 1) + 1;
	int32_t stop = 0;
	int ret;

	ret = coll_broadcast(km->comm, km->centroids, (uint64_t)km->k * km->dims, COLL_F64, 0);
	if (ret)
		return fail("broadcast of the first centroids", ret);
	for (*iters = 0; !stop;) {
		assign(km);
		ret = coll_allreduce(km->comm, COLL_IN_PLACE, km->sums, len, COLL_F64,
				     COLL_OP_SUM);
		if (ret)
			return fail("allreduce", ret);
		++*iters;
		stop = update(km) <= km->tolerance * km->tolerance || *iters >= km->max_iters;
		ret = coll_broadcast(km->comm, &stop, 1, COLL_I32, 0);
		if (ret)
			return fail("broadcast of the criterion", ret);
	}
	return 0;
}

static void print_result(const struct kmeans *km, uint32_t iters)
{
	uint32_t c, d;

	printf("iterations %u\n", iters);
	for (c = 0; c < km->k; c++) {
		printf("centroid %u:", c);
		for (d = 0; d < km->dims; d++)
			printf(" %.6f", km->centroids[c * km->dims + d]);
		printf("  size %.0f\n", km->sums[c * (km->dims + 1) + km->dims]);
	}
	printf("inertia %.6f\n", km->sums[km->k * (km->dims + 1)]);
}

static int run(struct kmeans *km, const char *path)
{
	uint32_t iters = 0;
	int ret;

	ret = load_file(km, path);
	if (ret)	/* the others would wait for us */
		coll_abort(km->comm, 1);
	else
		ret = iterate(km, &iters);
	if (!ret && !coll_comm_rank(km->comm)) {
		fprintf(stderr, "kmeans: %llu rows of %u, k = %u, %u ranks on %u nodes\n",
			(unsigned long long)km->rows, km->dims, km->k,
			coll_comm_size(km->comm), coll_comm_nodes(km->comm));
		print_result(km, iters);
	}
	free(km->x);
	free(km->centroids);
	free(km->sums);
	free(km->chosen);
	return ret;
}

int main(int argc, char **argv)
{
	struct kmeans km = { .k = 3, .max_iters = 300, .seed = 1, .tolerance = 1e-9 };
	int c, ret, bad = 0;

	while ((c = getopt(argc, argv, "k:i:s:t:")) != -1) {
		switch (c) {
		case 'k': km.k = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'i': km.max_iters = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 's': km.seed = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 't': km.tolerance = strtod(optarg, NULL); break;
		default: bad = 1;
		}
	}
	if (bad || optind != argc - 1 || !km.k || km.k > 10000 || !km.max_iters) {
		fprintf(stderr, "usage: kmeans [-k K] [-i ITERATIONS] [-s SEED] [-t TOLERANCE] FILE\n");
		return 2;
	}
	ret = coll_init(NULL, &km.comm);
	if (ret)
		return fail("coll_init", ret), 1;
	ret = run(&km, argv[optind]);
	coll_finalize(km.comm);
	return ret ? 1 : 0;
}
