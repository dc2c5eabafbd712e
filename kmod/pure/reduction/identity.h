/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The identity of an operator: a rank that contributes it changes no result. */
#ifndef COLL_PURE_IDENTITY_H
#define COLL_PURE_IDENTITY_H

#include "../env.h"

/* Bytes of an element at most. All sizes are powers of two. */
#define COLL_IDENTITY_MAX	32

/**
 * coll_identity() - the identity of an operator on a type
 * @op: enum coll_op_code, any number
 * @dtype: enum coll_dtype, any number
 * @elem: result: one element; the rest is zero
 *
 * Folded with any x that is no NaN it gives x; for the logical operators, what the operator
 * makes of x alone; for a product of complex numbers, x up to the signs of zeros, if it is
 * finite. Premulsum: with the factor of coll_identity_factor().
 * Return: false if there is none: the result is one rank's input, or unknown.
 */
bool coll_identity(u32 op, u32 dtype, u8 elem[COLL_IDENTITY_MAX]);

/* The number 1, as the factor of premulsum is given in struct coll_cmd. */
u64 coll_identity_factor(u32 dtype);

#endif /* COLL_PURE_IDENTITY_H */
