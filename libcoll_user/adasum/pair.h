/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Adasum of two vectors, in parts. */
#ifndef LIBCOLL_ADASUM_PAIR_H
#define LIBCOLL_ADASUM_PAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Scalar products of two vectors. Those of the parts add up to those of the whole. */
struct adasum_products {
	double aa, bb, ab;
};

/* What the two vectors are multiplied by. */
struct adasum_factors {
	double a, b;
};

/* Elements @wide: f64, else f32. */
struct adasum_products adasum_products(const void *a, const void *b, uint64_t n, bool wide);
struct adasum_factors adasum_factors(const struct adasum_products *p);
/* @to may be @a or @b. */
void adasum_combine(void *to, const void *a, const void *b, uint64_t n,
		    const struct adasum_factors *f, bool wide);

#endif
