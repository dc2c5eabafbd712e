// SPDX-License-Identifier: GPL-2.0
/*
 * Tables for the examples: read a CSV file in parts, and give each feature mean 0 and
 * variance 1. The statistics are a session of one iteration.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "learn.h"

void *learn_array(uint64_t n, uint64_t m, size_t size)
{
	uint64_t bytes = 0;
	void *p = NULL;

	if (!__builtin_mul_overflow(n, m, &bytes) && !__builtin_mul_overflow(bytes, size, &bytes))
		p = calloc(1, bytes ? bytes : 1);
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

int learn_u64(const char *text, uint64_t *out)
{
	uint64_t v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, strncasecmp(text, "0x", 2) ? 10 : 16);
	if (errno || end == text || *end || !isdigit((unsigned char)*text))
		return 1;
	*out = v;
	return 0;
}

int learn_u32(const char *text, uint32_t *out)
{
	uint64_t v;

	if (learn_u64(text, &v) || v > UINT32_MAX)
		return 1;
	*out = (uint32_t)v;
	return 0;
}

int learn_real(const char *text, double *out)
{
	double v;
	char *end;

	v = strtod(text, &end);
	if (end == text || *end || !isfinite(v))
		return 1;
	*out = v;
	return 0;
}

double learn_random(uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t x = seed + a * 0x9e3779b97f4a7c15ULL + b * 0xd1b54a32d192ed03ULL;

	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return (double)(x >> 11) * 0x1p-53;
}

static double power_of_two(double terms, double max)
{
	int exponent;

	frexp(terms * max, &exponent);
	return ldexp(1.0, exponent - 52);	/* one bit for the rounding */
}

struct learn_grid learn_grid(double terms, double max)
{
	struct learn_grid g;

	g.hi = power_of_two(terms > 1 ? terms : 1, max > 0x1p-500 ? max : 0x1p-500);
	g.lo = power_of_two(terms > 1 ? terms : 1, g.hi);
	return g;
}

coll_comm_t *learn_init(const char *me)
{
	coll_comm_t *comm = NULL;
	int ret = coll_init(NULL, &comm);

	if (ret)
		fprintf(stderr, "%s: coll_init: %s %s\n", me, coll_strerror(ret),
			coll_last_error());
	return comm;
}

int learn_exec(const char *me, coll_iter_t *it)
{
	int ret = coll_iter_exec(it);

	if (ret)
		fprintf(stderr, "%s: %s\n", me, coll_iter_error(it));
	return ret;
}

int learn_csv(const char *me, coll_comm_t *comm, const char *path, struct coll_csv *csv)
{
	const struct coll_csv_options opt = { .struct_size = sizeof(opt), .header_lines = 1 };
	char why[256] = "";
	int ret;

	ret = coll_csv_load(comm, path, &opt, csv, why, sizeof(why));
	if (ret && !coll_comm_rank(comm))
		fprintf(stderr, "%s: %s\n", me, why);
	return ret;
}

/* --- statistics: each column of @csv --- */

struct stats {
	struct coll_csv *csv;
	struct learn *l;
};

/* The largest value of each column, and of its negative. */
static int step_extremes(coll_iter_ctx_t *ctx, void *arg)
{
	const struct coll_csv *csv = ((struct stats *)arg)->csv;
	uint32_t n = csv->columns, j;
	uint64_t i;
	double *max;

	max = coll_iter_new(ctx, "extremes", 2 * n * sizeof(*max));
	if (!max)
		return -ENOMEM;
	for (j = 0; j < 2 * n; j++)
		max[j] = -INFINITY;
	for (i = 0; i < csv->local; i++)
		for (j = 0; j < n; j++) {
			max[j] = fmax(max[j], csv->x[i * n + j]);
			max[n + j] = fmax(max[n + j], -csv->x[i * n + j]);
		}
	return 0;
}

static int step_sums(coll_iter_ctx_t *ctx, void *arg)
{
	const struct coll_csv *csv = ((struct stats *)arg)->csv;
	double *max = coll_iter_get(ctx, "extremes", NULL);
	double *sums = coll_iter_new(ctx, "sums", 2 * csv->columns * sizeof(*sums));
	uint32_t n = csv->columns, j;
	uint64_t i;

	if (!max || !sums)
		return -ENOMEM;
	for (j = 0; j < n; j++) {
		struct learn_grid g = learn_grid((double)csv->rows, fmax(max[j], max[n + j]));

		for (i = 0; i < csv->local; i++)
			learn_add(&sums[2 * j], csv->x[i * n + j], &g);
	}
	return 0;
}

static int step_squares(coll_iter_ctx_t *ctx, void *arg)
{
	const struct coll_csv *csv = ((struct stats *)arg)->csv;
	double *max = coll_iter_get(ctx, "extremes", NULL), *sums = coll_iter_get(ctx, "sums", NULL);
	double *squares = coll_iter_new(ctx, "squares", 2 * csv->columns * sizeof(*squares));
	uint32_t n = csv->columns, j;
	uint64_t i;

	if (!max || !sums || !squares)
		return -ENOMEM;
	for (j = 0; j < n; j++) {
		double mean = learn_value(&sums[2 * j]) / (double)csv->rows;
		double far = fmax(max[j] - mean, max[n + j] + mean);
		struct learn_grid g = learn_grid((double)csv->rows, far * far);

		for (i = 0; i < csv->local; i++) {
			double d = csv->x[i * n + j] - mean;

			learn_add(&squares[2 * j], d * d, &g);
		}
	}
	return 0;
}

/* The last column is what is to be learned, and stays as it is. */
static int standardize(coll_iter_ctx_t *ctx, void *arg)
{
	const struct stats *s = arg;
	const double *max = coll_iter_get(ctx, "extremes", NULL);
	const double *sums = coll_iter_get(ctx, "sums", NULL);
	const double *squares = coll_iter_get(ctx, "squares", NULL);
	uint32_t n = s->csv->columns, j;
	struct learn *l = s->l;
	uint64_t i;

	if (!max || !sums || !squares)
		return -ENOENT;
	for (j = 0; j + 1 < n; j++) {
		double mean = learn_value(&sums[2 * j]) / (double)l->rows;
		double dev = sqrt(learn_value(&squares[2 * j]) / (double)l->rows);

		if (dev == 0)
			dev = 1;	/* all rows are equal */
		l->bound[j] = fmax(max[j] - mean, max[n + j] + mean) / dev;
		for (i = 0; i < l->local; i++)
			l->z[i * n + j] = (s->csv->x[i * n + j] - mean) / dev;
	}
	l->bound[n - 1] = 1;
	l->y_bound = fmax(max[n - 1], max[2 * n - 1]);
	for (i = 0; i < l->local; i++) {
		l->z[i * n + n - 1] = 1;
		l->y[i] = s->csv->x[i * n + n - 1];
	}
	return 0;
}

static int statistics(const char *me, struct stats *s)
{
	coll_iter_t *it;
	int ret;

	ret = coll_iter_create(s->l->comm, &it);
	if (ret)
		return ret;
	coll_iter_add(it, "extremes", step_extremes, s);
	coll_iter_add_allreduce(it, "extremes", NULL, COLL_F64, COLL_OP_MAX);
	coll_iter_add(it, "sums", step_sums, s);
	coll_iter_add_allreduce(it, "sums", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_add(it, "squares", step_squares, s);
	coll_iter_add_allreduce(it, "squares", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_set_max_iter(it, 1);
	coll_iter_set_progress(it, COLL_ITER_PROGRESS_OFF);
	coll_iter_close_with(it, standardize, s);
	ret = learn_exec(me, it);
	coll_iter_free(it);
	return ret;
}

int learn_load(const char *me, coll_comm_t *comm, const char *path, struct learn *l)
{
	struct coll_csv csv;
	struct stats s = { &csv, l };
	int ret;

	memset(l, 0, sizeof(*l));
	l->comm = comm;
	ret = learn_csv(me, comm, path, &csv);
	if (ret)
		return ret;
	l->rows = csv.rows;
	l->first = csv.first;
	l->local = csv.local;
	l->dims = csv.columns;
	l->z = learn_array(l->local, l->dims, sizeof(double));
	l->y = learn_array(l->local, 1, sizeof(double));
	l->bound = learn_array(l->dims, 1, sizeof(double));
	ret = statistics(me, &s);
	coll_csv_free(&csv);
	if (ret)
		learn_free(l);
	return ret;
}

void learn_free(struct learn *l)
{
	free(l->z);
	free(l->y);
	free(l->bound);
	memset(l, 0, sizeof(*l));
}
