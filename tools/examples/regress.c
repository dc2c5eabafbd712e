// SPDX-License-Identifier: GPL-2.0
/*
 * Linear and logistic regression over several ranks, as sessions:
 *
 *	gd	gradient, allreduce, step
 *	sgd	the same with a share of the rows, drawn for each step
 *	lbfgs, owlqn, newton
 *		gradient (and Hessian), allreduce, direction, losses at 16 step sizes,
 *		allreduce, the best of them
 *
 * Rows are drawn, and sums are made, so that the result does not depend on the number of
 * ranks, see learn.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress.h"

static const char me[] = "regress";

static const double *row(const struct regress *r, uint64_t i)
{
	return r->data.z + i * r->data.dims;
}

/* log(1 + e^-m), without overflow. */
static double logistic_loss(double m)
{
	return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
}

static double loss_of(const struct regress *r, double z, double y)
{
	if (r->logistic)
		return logistic_loss(y > 0.5 ? z : -z);
	return (z - y) * (z - y) / 2;
}

/* The same on all ranks: no |z| is larger. */
static double z_bound(const struct regress *r, const double *w)
{
	double sum = 0;
	uint32_t j;

	for (j = 0; j < r->data.dims; j++)
		sum += fabs(w[j]) * r->data.bound[j];
	return sum;
}

static struct learn_grid loss_grid(const struct regress *r, const double *w)
{
	double z = z_bound(r, w), far = z + r->data.y_bound;

	return learn_grid((double)r->data.rows, r->logistic ? z + 1 : far * far / 2);
}

static bool drawn(const struct regress *r, uint64_t step, uint64_t i)
{
	return r->method != SGD ||
	       learn_random(r->seed, step, r->data.first + i) < r->share;
}

/* The first and second derivative of the loss of a row by z. */
static double derivative(const struct regress *r, double z, double y, double *second)
{
	double p;

	if (!r->logistic) {
		*second = 1;
		return z - y;
	}
	p = 1 / (1 + exp(-z));
	*second = p * (1 - p);
	return p - (y > 0.5);
}

static void add_hessian(const struct regress *r, const double *x, double second, double *h)
{
	uint32_t n = r->data.dims, a, b;

	for (a = 0; a < n; a++)
		for (b = 0; b <= a; b++) {
			struct learn_grid g = learn_grid((double)r->data.rows,
							 r->data.bound[a] * r->data.bound[b]);

			learn_add(&h[2 * (a * n + b)], second * x[a] * x[b], &g);
		}
}

/* Object "gradient": two doubles for each coefficient, the loss, the number of rows. */
static int step_gradient(coll_iter_ctx_t *ctx, void *arg)
{
	struct regress *r = arg;
	uint32_t n = r->data.dims, j;
	struct learn_grid loss = loss_grid(r, r->w), *g = learn_array(n, 1, sizeof(*g));
	double *sums = coll_iter_new(ctx, "gradient", 2 * (n + 2) * sizeof(*sums));
	double *h = NULL, most = r->logistic ? 1 : z_bound(r, r->w) + r->data.y_bound;
	uint64_t i;

	if (r->method == NEWTON)
		h = coll_iter_new(ctx, "hessian", (size_t)2 * n * n * sizeof(*h));
	for (j = 0; j < n; j++)
		g[j] = learn_grid((double)r->data.rows, most * r->data.bound[j]);
	for (i = 0; sums && i < r->data.local; i++) {
		const double *x = row(r, i);
		double z = dot(r->w, x, n), second, d;

		if (!drawn(r, coll_iter_step_no(ctx), i))
			continue;
		d = derivative(r, z, r->data.y[i], &second);
		for (j = 0; j < n; j++)
			learn_add(&sums[2 * j], d * x[j], &g[j]);
		learn_add(&sums[2 * n], loss_of(r, z, r->data.y[i]), &loss);
		sums[2 * n + 2] += 1;
		if (h)
			add_hessian(r, x, second, h);
	}
	free(g);
	return sums ? 0 : -ENOMEM;
}

/* Means, and the penalty of squares. */
static int take_gradient(coll_iter_ctx_t *ctx, struct regress *r)
{
	const double *sums = coll_iter_get(ctx, "gradient", NULL);
	uint32_t n = r->data.dims, j;
	double rows, norm = 0;

	if (!sums)
		return -ENOENT;
	rows = sums[2 * n + 2];
	memcpy(r->old_g, r->g, n * sizeof(*r->g));
	for (j = 0; j < n; j++) {
		r->g[j] = rows ? learn_value(&sums[2 * j]) / rows : 0;
		if (j + 1 < n)
			r->g[j] += r->l2 * r->w[j];
	}
	if (rows)
		r->loss = learn_value(&sums[2 * n]) / rows + penalty(r, r->w);
	for (j = 0; j < n; j++)
		norm += slope(r, r->g, j) * slope(r, r->g, j);
	/* A step that has drawn no rows says nothing about the slope. */
	r->norm = rows ? sqrt(norm) : INFINITY;
	return 0;
}

static int step_simple(coll_iter_ctx_t *ctx, void *arg)
{
	struct regress *r = arg;
	double rate = r->rate;
	int ret = take_gradient(ctx, r);
	uint32_t j;

	if (ret)
		return ret;
	if (r->method == SGD)
		rate /= sqrt((double)coll_iter_step_no(ctx));
	for (j = 0; j < r->data.dims; j++)
		r->w[j] -= rate * r->g[j];
	return 0;
}

static int step_direction(coll_iter_ctx_t *ctx, void *arg)
{
	struct regress *r = arg;
	uint32_t n = r->data.dims, a, b;
	double *sums, *h = NULL;
	int ret = take_gradient(ctx, r);

	if (ret)
		return ret;
	if (coll_iter_step_no(ctx) > 1)
		remember(r);
	if (r->method == NEWTON) {
		sums = coll_iter_get(ctx, "hessian", NULL);
		h = learn_array(n, n, sizeof(*h));
		/* Its lower half, as LAPACK has it: column by column. */
		for (a = 0; sums && a < n; a++)
			for (b = 0; b <= a; b++) {
				h[b * n + a] = learn_value(&sums[2 * (a * n + b)]) /
					       (double)r->data.rows;
				if (a == b && a + 1 < n)
					h[b * n + a] += r->l2;
			}
	}
	ret = find_direction(r, h);
	free(h);
	return ret ? coll_iter_fail(ctx, ret, "the Hessian is not positive definite: use -2") : 0;
}

/* 4, 2, 1, 1/2 ... */
static double size_of(uint32_t i)
{
	return ldexp(4, -(int)i);
}

static int step_losses(coll_iter_ctx_t *ctx, void *arg)
{
	const struct regress *r = arg;
	double *losses = coll_iter_new(ctx, "losses", 2 * TRIES * sizeof(*losses));
	double *w = learn_array(r->data.dims, 1, sizeof(*w));
	uint32_t k;
	uint64_t i;

	for (k = 0; losses && k < TRIES; k++) {
		struct learn_grid g;

		point_at(r, size_of(k), w);
		g = loss_grid(r, w);
		for (i = 0; i < r->data.local; i++)
			learn_add(&losses[2 * k], loss_of(r, dot(w, row(r, i), r->data.dims),
							  r->data.y[i]), &g);
	}
	free(w);
	return losses ? 0 : -ENOMEM;
}

/* The best step. If none is better than where we are we stay, and are done. */
static int step_best(coll_iter_ctx_t *ctx, void *arg)
{
	struct regress *r = arg;
	const double *losses = coll_iter_get(ctx, "losses", NULL);
	double *w = learn_array(r->data.dims, 1, sizeof(*w)), best = r->loss, size = 0;
	uint32_t k;

	for (k = 0; losses && k < TRIES; k++) {
		double loss;

		point_at(r, size_of(k), w);
		loss = learn_value(&losses[2 * k]) / (double)r->data.rows + penalty(r, w);
		if (loss < best) {
			best = loss;
			size = size_of(k);
		}
	}
	memcpy(r->old_w, r->w, r->data.dims * sizeof(*w));
	if (size) {
		point_at(r, size, w);
		memcpy(r->w, w, r->data.dims * sizeof(*w));
	} else {
		r->norm = 0;
	}
	r->loss = best;
	free(w);
	return losses ? 0 : -ENOENT;
}

static int enough(coll_iter_ctx_t *ctx, void *arg, double *value)
{
	const struct regress *r = arg;

	(void)ctx;
	*value = r->loss;
	return r->norm <= r->tolerance;
}

static int solve(struct regress *r, struct coll_iter_stats *st)
{
	coll_iter_t *it;
	int ret;

	ret = coll_iter_create(r->data.comm, &it);
	if (ret)
		return ret;
	coll_iter_add(it, "gradient", step_gradient, r);
	coll_iter_add_allreduce(it, "gradient", NULL, COLL_F64, COLL_OP_SUM);
	if (r->method == NEWTON)
		coll_iter_add_allreduce(it, "hessian", NULL, COLL_F64, COLL_OP_SUM);
	if (r->method == GD || r->method == SGD) {
		coll_iter_add(it, "step", step_simple, r);
	} else {
		coll_iter_add(it, "direction", step_direction, r);
		coll_iter_add(it, "losses", step_losses, r);
		coll_iter_add_allreduce(it, "losses", NULL, COLL_F64, COLL_OP_SUM);
		coll_iter_add(it, "best step", step_best, r);
	}
	coll_iter_set_compare_criterion_of_node0(it, enough, r);
	coll_iter_set_max_iter(it, r->max_iters);
	ret = learn_exec(me, it);
	coll_iter_stats(it, st);
	coll_iter_free(it);
	return ret;
}

static void print_result(const struct regress *r, const struct coll_iter_stats *st)
{
	uint32_t j;

	fprintf(stderr, "%s: %llu rows of %u, %u ranks on %u nodes\n", me,
		(unsigned long long)r->data.rows, r->data.dims - 1,
		coll_comm_size(r->data.comm), coll_comm_nodes(r->data.comm));
	printf("iterations %llu\nloss %.15g\nw", (unsigned long long)st->iterations, r->loss);
	for (j = 0; j < r->data.dims; j++)
		printf(" %.15g", r->w[j]);
	printf("\n");
}

static int run(struct regress *r, coll_comm_t *comm, const char *path)
{
	struct coll_iter_stats st;
	double *all;
	uint32_t n, i;
	int ret;

	ret = learn_load(me, comm, path, &r->data);
	if (ret)
		return ret;
	n = r->data.dims;
	all = learn_array(5 + 2 * HISTORY, n, sizeof(*all));
	r->w = all;
	r->g = all + n;
	r->direction = all + 2 * n;
	r->old_w = all + 3 * n;
	r->old_g = all + 4 * n;
	for (i = 0; i < HISTORY; i++) {
		r->s[i] = all + (5 + 2 * i) * n;
		r->t[i] = all + (6 + 2 * i) * n;
	}
	ret = solve(r, &st);
	if (!ret && !coll_comm_rank(comm))
		print_result(r, &st);
	free(all);
	learn_free(&r->data);
	return ret;
}

static int parse_method(const char *s, enum method *method)
{
	static const char * const names[] = {
		[GD] = "gd", [SGD] = "sgd", [LBFGS] = "lbfgs", [OWLQN] = "owlqn",
		[NEWTON] = "newton",
	};
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(s, names[i])) {
			*method = (enum method)i;
			return 0;
		}
	return 1;
}

static int parse(struct regress *r, int argc, char **argv)
{
	int c, bad = 0;

	while ((c = getopt(argc, argv, "m:o:1:2:r:f:s:i:t:")) != -1) {
		switch (c) {
		case 'm':
			r->logistic = !strcmp(optarg, "logistic");
			bad |= !r->logistic && strcmp(optarg, "linear");
			break;
		case 'o': bad |= parse_method(optarg, &r->method); break;
		case '1': bad |= learn_real(optarg, &r->l1); break;
		case '2': bad |= learn_real(optarg, &r->l2); break;
		case 'r': bad |= learn_real(optarg, &r->rate); break;
		case 'f': bad |= learn_real(optarg, &r->share); break;
		case 's': bad |= learn_u64(optarg, &r->seed); break;
		case 'i': bad |= learn_u64(optarg, &r->max_iters); break;
		case 't': bad |= learn_real(optarg, &r->tolerance); break;
		default: bad = 1;
		}
	}
	if (r->l1 && r->method != OWLQN)
		bad = 1;
	return bad || optind != argc - 1 || !(r->l1 >= 0) || !(r->l2 >= 0);
}

int main(int argc, char **argv)
{
	struct regress r = {
		.logistic = true, .method = LBFGS, .l2 = 0.01, .rate = 0.1, .share = 0.25,
		.seed = 1, .max_iters = 500, .tolerance = 1e-9,
	};
	coll_comm_t *comm;
	int ret;

	if (parse(&r, argc, argv)) {
		fprintf(stderr,
			"usage: regress [-m logistic|linear] [-o gd|sgd|lbfgs|owlqn|newton]\n"
			"       [-1 L1 (owlqn)] [-2 L2] [-r RATE] [-f SHARE] [-s SEED]\n"
			"       [-i ITERATIONS] [-t TOLERANCE] FILE\n");
		return 2;
	}
	comm = learn_init(me);
	if (!comm)
		return 1;
	ret = run(&r, comm, argv[optind]);
	coll_finalize(comm);
	return ret ? 1 : 0;
}
