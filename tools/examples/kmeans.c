// SPDX-License-Identifier: GPL-2.0
/*
 * k-means over several ranks, as a session: every iteration assigns the rank's own rows to
 * the nearest centroid, sums up coordinates and counts for each of them, adds these sums
 * over all ranks by one allreduce, and moves the centroids. Task 0 decides when it is
 * enough.
 *
 * The result does not depend on how many ranks there are, not in the last bit: all sums are
 * exact, see learn.h. So no assignment and no stop criterion can flip either.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learn.h"

/**
 * struct kmeans - the job as one rank sees it
 * @csv: our rows; @dims: coordinates of a row, without the class
 * @grid: for coordinates; @grid2: for squares of distances
 * @chosen: the rows that the centroids start from
 * @first: rows of the first centroids, as far as they are ours
 * @result: centroids and their sizes, then the inertia
 */
struct kmeans {
	coll_comm_t *comm;
	uint32_t k, max_iters, seed;
	size_t dims;
	double tolerance;
	struct coll_csv csv;
	struct learn_grid grid, grid2;
	uint64_t *chosen;
	double *first, *result;
};

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
			km->chosen[i] = draw(&state) % km->csv.rows;
			for (j = 0; j < i && km->chosen[j] != km->chosen[i]; j++)
				;
		} while (j < i);
	}
}

/* Sums of a centroid: for each coordinate, and for the count, two doubles. */
static size_t width(const struct kmeans *km)
{
	return 2 * (km->dims + 1);
}

static const double *row_of(const struct kmeans *km, uint64_t i)
{
	return km->csv.x + i * km->csv.columns;
}

/* Our rows' share of the sums. */
static int assign(coll_iter_ctx_t *ctx, void *arg)
{
	struct kmeans *km = arg;
	const double *centroids = coll_iter_get(ctx, "centroids", NULL);
	double *sums = coll_iter_new(ctx, "sums", (km->k * width(km) + 2) * sizeof(*sums));
	uint32_t c, d, best;
	uint64_t i;

	if (!centroids || !sums)
		return -ENOMEM;
	for (i = 0; i < km->csv.local; i++) {
		const double *x = row_of(km, i);
		double least = INFINITY;

		for (c = best = 0; c < km->k; c++) {
			const double *to = centroids + c * km->dims;
			double sq = 0;

			for (d = 0; d < km->dims; d++)
				sq += (x[d] - to[d]) * (x[d] - to[d]);
			if (sq < least) {
				least = sq;
				best = c;
			}
		}
		for (d = 0; d < km->dims; d++)
			learn_add(&sums[best * width(km) + 2 * d], x[d], &km->grid);
		sums[best * width(km) + 2 * km->dims] += 1;
		learn_add(&sums[km->k * width(km)], least, &km->grid2);
	}
	return 0;
}

/* Move the centroids. The criterion is the longest way of a centroid. */
static int update(coll_iter_ctx_t *ctx, void *arg)
{
	struct kmeans *km = arg;
	const double *sums = coll_iter_get(ctx, "sums", NULL);
	double *centroids = coll_iter_get(ctx, "centroids", NULL);
	double *farthest = coll_iter_new(ctx, "farthest", sizeof(*farthest));
	uint32_t c, d;

	if (!sums || !centroids || !farthest)
		return -ENOMEM;
	for (c = 0; c < km->k; c++) {
		const double *own = sums + c * width(km);
		double n = own[2 * km->dims], way = 0;

		if (n == 0)
			continue;	/* nobody is nearest: stay */
		for (d = 0; d < km->dims; d++) {
			double *to = &centroids[c * km->dims + d];
			double mean = learn_value(&own[2 * d]) / n;

			way += (mean - *to) * (mean - *to);
			*to = mean;
		}
		*farthest = fmax(*farthest, sqrt(way));
	}
	return 0;
}

static int enough(coll_iter_ctx_t *ctx, void *arg, double *value)
{
	const struct kmeans *km = arg;
	const double *farthest = coll_iter_get(ctx, "farthest", NULL);

	if (!farthest)
		return -ENOENT;
	*value = *farthest;
	return *farthest <= km->tolerance;
}

static int take_result(coll_iter_ctx_t *ctx, void *arg)
{
	struct kmeans *km = arg;
	const double *sums = coll_iter_get(ctx, "sums", NULL);
	const double *centroids = coll_iter_get(ctx, "centroids", NULL);
	uint32_t c;

	if (!sums || !centroids)
		return -ENOENT;
	for (c = 0; c < km->k; c++) {
		double *to = km->result + c * (km->dims + 1);

		memcpy(to, centroids + c * km->dims, km->dims * sizeof(*to));
		to[km->dims] = sums[c * width(km) + 2 * km->dims];
	}
	km->result[km->k * (km->dims + 1)] = learn_value(sums + km->k * width(km));
	return 0;
}

/* The largest coordinate decides on the grids; the first centroids come from their owners. */
static int prepare(struct kmeans *km)
{
	uint64_t i, n = km->k * km->dims;
	double max = 0;
	uint32_t d, c;
	int ret;

	for (i = 0; i < km->csv.local; i++)
		for (d = 0; d < km->dims; d++)
			max = fmax(max, fabs(row_of(km, i)[d]));
	ret = coll_allreduce(km->comm, COLL_IN_PLACE, &max, 1, COLL_F64, COLL_OP_MAX);
	if (ret)
		return ret;
	km->grid = learn_grid((double)km->csv.rows, max);
	km->grid2 = learn_grid((double)km->csv.rows, 4 * max * max * (double)km->dims);
	choose_rows(km);
	for (c = 0; c < km->k; c++)
		if (km->chosen[c] >= km->csv.first && km->chosen[c] - km->csv.first < km->csv.local)
			memcpy(km->first + c * km->dims, row_of(km, km->chosen[c] - km->csv.first),
			       km->dims * sizeof(double));
	/* The others have zeroes there. */
	return coll_allreduce(km->comm, COLL_IN_PLACE, km->first, n, COLL_F64, COLL_OP_SUM);
}

static int iterate(struct kmeans *km, struct coll_iter_stats *st)
{
	coll_iter_t *it;
	int ret;

	ret = coll_iter_create(km->comm, &it);
	if (ret)
		return ret;
	coll_iter_init_with_broadcast_data(it, "centroids", km->first,
					   km->k * km->dims * sizeof(double));
	coll_iter_add(it, "assign", assign, km);
	coll_iter_add_allreduce(it, "sums", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_add(it, "update", update, km);
	coll_iter_set_compare_criterion_of_node0(it, enough, km);
	coll_iter_set_max_iter(it, km->max_iters);
	coll_iter_close_with(it, take_result, km);
	ret = learn_exec("kmeans", it);
	coll_iter_stats(it, st);
	coll_iter_free(it);
	return ret;
}

static void print_result(const struct kmeans *km, const struct coll_iter_stats *st)
{
	uint32_t c, d;

	fprintf(stderr, "kmeans: %llu rows of %zu, k = %u, %u ranks on %u nodes\n",
		(unsigned long long)km->csv.rows, km->dims, km->k, coll_comm_size(km->comm),
		coll_comm_nodes(km->comm));
	printf("iterations %llu\n", (unsigned long long)st->iterations);
	for (c = 0; c < km->k; c++) {
		const double *own = km->result + c * (km->dims + 1);

		printf("centroid %u:", c);
		for (d = 0; d < km->dims; d++)
			printf(" %.6f", own[d]);
		printf("  size %.0f\n", own[km->dims]);
	}
	printf("inertia %.6f\n", km->result[km->k * (km->dims + 1)]);
}

static int run(struct kmeans *km, const char *path)
{
	struct coll_iter_stats st;
	int ret;

	ret = learn_csv("kmeans", km->comm, path, &km->csv);
	if (ret)
		return ret;
	km->dims = km->csv.columns - 1;
	if (!km->dims || km->csv.rows < km->k) {
		if (!coll_comm_rank(km->comm))
			fprintf(stderr, "kmeans: %s: no class, or fewer than k rows\n", path);
		return -EINVAL;
	}
	km->chosen = learn_array(km->k, 1, sizeof(*km->chosen));
	km->first = learn_array(km->k, km->dims, sizeof(double));
	km->result = learn_array(km->k * (km->dims + 1) + 1, 1, sizeof(double));
	ret = prepare(km);
	if (!ret)
		ret = iterate(km, &st);
	if (!ret && !coll_comm_rank(km->comm))
		print_result(km, &st);
	free(km->chosen);
	free(km->first);
	free(km->result);
	coll_csv_free(&km->csv);
	return ret;
}

int main(int argc, char **argv)
{
	struct kmeans km = { .k = 3, .max_iters = 300, .seed = 1, .tolerance = 1e-9 };
	int c, ret, bad = 0;

	while ((c = getopt(argc, argv, "k:i:s:t:")) != -1) {
		switch (c) {
		case 'k': bad |= learn_u32(optarg, &km.k); break;
		case 'i': bad |= learn_u32(optarg, &km.max_iters); break;
		case 's': bad |= learn_u32(optarg, &km.seed); break;
		case 't': bad |= learn_real(optarg, &km.tolerance); break;
		default: bad = 1;
		}
	}
	if (bad || optind != argc - 1 || !km.k || km.k > 10000) {
		fprintf(stderr, "usage: kmeans [-k K] [-i ITERATIONS] [-s SEED] [-t TOLERANCE] FILE\n");
		return 2;
	}
	km.comm = learn_init("kmeans");
	if (!km.comm)
		return 1;
	ret = run(&km, argv[optind]);
	coll_finalize(km.comm);
	return ret ? 1 : 0;
}
