/* SPDX-License-Identifier: GPL-2.0 */
/* Linear and logistic regression: the problem, and ways to solve it. */
#ifndef EXAMPLES_REGRESS_H
#define EXAMPLES_REGRESS_H

#include <stdbool.h>

#include "learn.h"

#define HISTORY	10	/* steps that L-BFGS remembers */
#define TRIES	16	/* step sizes that the line search looks at, in one allreduce */

enum method { GD, SGD, LBFGS, OWLQN, NEWTON };

/**
 * struct regress - a problem as one task sees it; all tasks have the same but for @data
 * @l1, @l2: weights of |w| and of w^2 / 2, not for the last coefficient
 * @rate: step size of gd; of sgd divided by the square root of the step number
 * @share: of rows that a step of sgd looks at
 * @w, @g, @direction: coefficients, gradient without @l1, where to go
 * @loss: with both penalties; of sgd: of the rows looked at, without @l1
 * @norm: of the gradient, or of what takes its place with @l1
 * @s, @t: last changes of @w and @g, at index step % HISTORY
 * @pairs: number of changes so far
 */
struct regress {
	struct learn data;
	bool logistic;
	enum method method;
	double l1, l2, rate, share, tolerance;
	uint64_t seed, max_iters;
	double *w, *g, *direction, *old_w, *old_g;
	double loss, norm;
	double *s[HISTORY], *t[HISTORY];
	double st[HISTORY];
	uint64_t pairs;
};

static inline double dot(const double *a, const double *b, uint32_t n)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* optimize.c: @direction from @g; @hessian for Newton, dims x dims. 0, or -EDOM. */
int find_direction(struct regress *r, double *hessian);
/* The point at step size @size from @w. With OWL-QN no coefficient changes its sign. */
void point_at(const struct regress *r, double size, double *to);
/* The gradient, but with @l1 the smallest one of all that could be. */
double slope(const struct regress *r, const double *g, uint32_t j);
void remember(struct regress *r);
double penalty(const struct regress *r, const double *w);

#endif
