/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Factors of a reduction, and what is done to its results at the very end. */
#ifndef COLL_PURE_FACTOR_H
#define COLL_PURE_FACTOR_H

#include "reduce.h"

/* The number 1, as f64. */
#define COLL_FACTOR_ONE	0x3ff0000000000000ULL

/**
 * coll_factor() - a factor in another type
 * @dtype: COLL_F32 or COLL_F64
 * @f64: bits of the factor
 * @elem: result: bits in the low bytes, rounded to nearest even
 *
 * Return: false if @f64 is not finite, or if the result is zero or not finite.
 */
bool coll_factor(u32 dtype, u64 f64, u64 *elem);

/**
 * struct coll_after - what is done to results at the very end
 * @divide: kernel of avg, for results that are to be divided by @divisor; NULL: they are not
 * @scale: kernel of premulsum, for results that are multiplied by @factor then; NULL: not
 * @narrow: kernel to a type of 16 bits that results are rounded to then; NULL: they are not
 * @widen: and back
 * @divisor: 1 .. 2^20
 * @factor: one element of the type of the kernels
 */
struct coll_after {
	coll_reduce_fn *divide;
	coll_reduce_fn *scale;
	coll_reduce_fn *narrow;
	coll_reduce_fn *widen;
	u32 divisor;
	u64 factor;
};

/* Do it to @count elements of @nr_out vectors, which are alike. */
void coll_after_run(const struct coll_after *a, void *const *out, unsigned int nr_out,
		    size_t count);

#endif /* COLL_PURE_FACTOR_H */
