// SPDX-License-Identifier: GPL-2.0
/*
 * Regression: the optimum by liblbfgs (Okazaki's port of Nocedal's L-BFGS, with OWL-QN), of
 * linear regression without L1 by the normal equations and LAPACK; gradient descent step by
 * step as it is written down in books.
 */
#include <lbfgs.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *a,
	    const int *lda, double *b, const int *ldb, double *work, const int *lwork, int *info);

struct problem {
	struct table t;
	double *y, l2;
	int logistic;
};

/* Mean loss of rows that @take says (all: NULL), and its gradient, with the squares. */
static double evaluate(const struct problem *p, const double *w, double *g, const char *take)
{
	size_t n = p->t.columns, i, j, rows = 0;
	double loss = 0;

	memset(g, 0, n * sizeof(*g));
	for (i = 0; i < p->t.rows; i++) {
		const double *x = p->t.x + i * n;
		double z = 0, d;

		if (take && !take[i])
			continue;
		for (j = 0; j < n; j++)
			z += w[j] * x[j];
		if (p->logistic) {
			double s = p->y[i] > 0.5 ? z : -z;

			loss += s > -30 ? log1p(exp(-s)) : -s + log1p(exp(s));
			d = 1 / (1 + exp(-z)) - p->y[i];
		} else {
			d = z - p->y[i];
			loss += d * d / 2;
		}
		for (j = 0; j < n; j++)
			g[j] += d * x[j];
		rows++;
	}
	for (j = 0; j < n; j++)
		g[j] /= rows ? (double)rows : 1;
	loss /= rows ? (double)rows : 1;
	for (j = 0; j + 1 < n; j++) {
		g[j] += p->l2 * w[j];
		loss += p->l2 * w[j] * w[j] / 2;
	}
	return loss;
}

static void print(double loss, const double *w, size_t n)
{
	size_t j;

	printf("loss %.15g\nw", loss);
	for (j = 0; j < n; j++)
		printf(" %.15g", w[j]);
	printf("\n");
}

static int descend(struct problem *p, int stochastic, double rate, double share, int iterations)
{
	size_t n = p->t.columns, i, j;
	double *w = room(n, sizeof(*w)), *g = room(n, sizeof(*g)), loss = 0;
	char *take = room(p->t.rows, 1);
	int step;

	for (step = 1; step <= iterations; step++) {
		for (i = 0; i < p->t.rows; i++)
			take[i] = draw_unit(1, (unsigned long long)step, i) < share;
		loss = evaluate(p, w, g, stochastic ? take : NULL);
		for (j = 0; j < n; j++)
			w[j] -= g[j] * (stochastic ? rate / sqrt(step) : rate);
	}
	printf("iterations %d\n", iterations);
	print(loss, w, n);
	return 0;
}

static lbfgsfloatval_t callback(void *arg, const lbfgsfloatval_t *w, lbfgsfloatval_t *g,
				const int n, const lbfgsfloatval_t step)
{
	(void)n;
	(void)step;
	return evaluate(arg, w, g, NULL);
}

/* Rows, and below them the square root of the penalty: least squares by QR. */
static int least_squares(struct problem *p)
{
	int n = (int)p->t.columns, rows = (int)p->t.rows, m = rows + n, one = 1, info = 0;
	int work_len = 64 * m, i, j;
	double *a = room((size_t)m * (size_t)n, sizeof(*a)), *b = room((size_t)m, sizeof(*b));
	double *work = room((size_t)work_len, sizeof(*work)), *g = room((size_t)n, sizeof(*g));

	for (i = 0; i < rows; i++) {
		b[i] = p->y[i];
		for (j = 0; j < n; j++)
			a[(size_t)j * (size_t)m + (size_t)i] = p->t.x[(size_t)i * (size_t)n + (size_t)j];
	}
	for (j = 0; j + 1 < n; j++)
		a[(size_t)j * (size_t)m + (size_t)(rows + j)] = sqrt(p->l2 * rows);
	dgels_("N", &m, &n, &one, a, &m, b, &m, work, &work_len, &info);
	if (info)
		return 1;
	print(evaluate(p, b, g, NULL), b, (size_t)n);
	return 0;
}

static int optimum(struct problem *p, double l1)
{
	int n = (int)p->t.columns, ret, j;
	lbfgsfloatval_t *w = lbfgs_malloc(n), loss;
	double *g = room((size_t)n, sizeof(*g));
	lbfgs_parameter_t param;

	lbfgs_parameter_init(&param);
	param.epsilon = 1e-10;
	param.max_linesearch = 100;
	if (l1) {
		param.orthantwise_c = l1;
		param.orthantwise_end = n - 1;
		param.linesearch = LBFGS_LINESEARCH_BACKTRACKING;
	}
	memset(w, 0, (size_t)n * sizeof(*w));
	ret = lbfgs(n, w, &loss, callback, NULL, p, &param);
	/* At the end of what doubles can tell apart no step is better. */
	if (ret < 0 && ret != LBFGSERR_ROUNDING_ERROR && ret != LBFGSERR_MAXIMUMLINESEARCH &&
	    ret != LBFGSERR_MINIMUMSTEP) {
		fprintf(stderr, "reference: lbfgs() gives %d\n", ret);
		return 1;
	}
	/* Its own result is that of the last point that it tried. */
	loss = evaluate(p, w, g, NULL);
	for (j = 0; j + 1 < n; j++)
		loss += l1 * fabs(w[j]);
	print(loss, w, (size_t)n);
	return 0;
}

int reference_regress(int argc, char **argv)
{
	struct problem p = { .logistic = argc > 1 && !strcmp(argv[1], "logistic") };
	int is_optimum = !strcmp(argv[0], "optimum");
	double l1;

	if (argc != (is_optimum ? 5 : 7))
		return 2;
	p.t = read_table(argv[argc - 1]);
	standard(&p.t, &p.y);
	if (!is_optimum) {
		p.l2 = atof(argv[2]);
		return descend(&p, !strcmp(argv[0], "sgd"), atof(argv[3]), atof(argv[4]),
			       atoi(argv[5]));
	}
	l1 = atof(argv[2]);
	p.l2 = atof(argv[3]);
	return p.logistic || l1 ? optimum(&p, l1) : least_squares(&p);
}
