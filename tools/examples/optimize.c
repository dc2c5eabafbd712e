// SPDX-License-Identifier: GPL-2.0
/*
 * Directions of descent. Every task computes the same one from the same numbers.
 *
 * L-BFGS and OWL-QN are our own and not those of liblbfgs: that library calls back for the
 * loss at one point at a time, from inside its line search. Here the losses at TRIES step
 * sizes go through one allreduce, as in Alink, and the search is a part of the queue.
 * reference.c uses liblbfgs to check the result.
 */
#include <errno.h>
#include <string.h>

#include "regress.h"

/* LAPACK: solve a x = b, a symmetric and positive definite; b becomes x. */
void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda,
	    double *b, const int *ldb, int *info);

/* The last coefficient is the constant, which is not kept small. */
double penalty(const struct regress *r, const double *w)
{
	double sum = 0;
	uint32_t j;

	for (j = 0; j + 1 < r->data.dims; j++)
		sum += r->l1 * fabs(w[j]) + r->l2 / 2 * w[j] * w[j];
	return sum;
}

double slope(const struct regress *r, const double *g, uint32_t j)
{
	if (!r->l1 || j + 1 == r->data.dims)
		return g[j];
	if (r->w[j])
		return g[j] + (r->w[j] > 0 ? r->l1 : -r->l1);
	if (g[j] + r->l1 < 0)
		return g[j] + r->l1;
	if (g[j] - r->l1 > 0)
		return g[j] - r->l1;
	return 0;
}

void point_at(const struct regress *r, double size, double *to)
{
	uint32_t j, n = r->data.dims;

	for (j = 0; j < n; j++) {
		to[j] = r->w[j] + size * r->direction[j];
		if (r->method == OWLQN && r->l1 && j + 1 < n) {
			double side = r->w[j] ? r->w[j] : -slope(r, r->g, j);

			if (to[j] * side <= 0)
				to[j] = 0;
		}
	}
}

/* The last step, for the next directions. A pair that does not curve upwards is left out. */
void remember(struct regress *r)
{
	uint32_t at = r->pairs % HISTORY, j, n = r->data.dims;

	for (j = 0; j < n; j++) {
		r->s[at][j] = r->w[j] - r->old_w[j];
		r->t[at][j] = r->g[j] - r->old_g[j];
	}
	r->st[at] = dot(r->s[at], r->t[at], n);
	if (r->st[at] > 1e-18 * dot(r->t[at], r->t[at], n))
		r->pairs++;
}

/* Nocedal's two loops, Mathematics of Computation 35 (1980). */
static void two_loops(struct regress *r)
{
	uint64_t from = r->pairs > HISTORY ? r->pairs - HISTORY : 0, i;
	uint32_t n = r->data.dims, j, at;
	double *d = r->direction, alpha[HISTORY], beta;

	for (i = r->pairs; i-- > from;) {
		at = i % HISTORY;
		alpha[at] = dot(r->s[at], d, n) / r->st[at];
		for (j = 0; j < n; j++)
			d[j] -= alpha[at] * r->t[at][j];
	}
	if (r->pairs) {
		at = (r->pairs - 1) % HISTORY;
		beta = r->st[at] / dot(r->t[at], r->t[at], n);
		for (j = 0; j < n; j++)
			d[j] *= beta;
	}
	for (i = from; i < r->pairs; i++) {
		at = i % HISTORY;
		beta = dot(r->t[at], d, n) / r->st[at];
		for (j = 0; j < n; j++)
			d[j] += (alpha[at] - beta) * r->s[at][j];
	}
}

int find_direction(struct regress *r, double *hessian)
{
	int n = (int)r->data.dims, one = 1, info = 0;
	uint32_t j;

	for (j = 0; j < r->data.dims; j++)
		r->direction[j] = -slope(r, r->g, j);
	if (r->method == NEWTON) {
		dposv_("L", &n, &one, hessian, &n, r->direction, &n, &info);
		return info ? -EDOM : 0;
	}
	if (r->method != LBFGS && r->method != OWLQN)
		return 0;
	two_loops(r);
	/* OWL-QN: no coefficient goes against its own slope (Andrew and Gao, 2007). */
	if (r->method == OWLQN && r->l1)
		for (j = 0; j + 1 < r->data.dims; j++)
			if (r->direction[j] * slope(r, r->g, j) >= 0)
				r->direction[j] = 0;
	return 0;
}
