/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The expected exact sums, after pure/reduction/exact.h, by GMP. Numbers are encodings of
 * floats.
 */
#ifndef COLL_UNIT_REF_EXACT_H
#define COLL_UNIT_REF_EXACT_H

#include <gmp.h>

#include "pure/reduction/exact.h"

/* One of the two types. */
struct kind {
	const char *name;
	u32 dtype, bytes;
	int digits, unit, exponents;
	u32 words;		/* of an accumulator, flags included */
	coll_reduce_fn *sum, *part;
};

extern const struct kind exact_kinds[2];
/* The one that all this is about at the moment. */
extern const struct kind *t;

u64 sign_bit(void);
u64 encode(bool neg, u64 exponent, u64 fraction);
u64 infinity(bool neg);
u64 not_a_number(void);
u64 largest(bool neg);
u64 exponent_of(u64 v);
u64 power(int e);		/* 2^e */

/* A finite v, in units of the least denormal. */
void to_integer(mpz_t z, u64 v);

/* The nearest float, of two the even one; z is not 0. */
u64 rounded(const mpz_t z);

/* The expected result for these terms, after exact.h. */
u64 expected(const u64 *term, u32 nr);

#endif /* COLL_UNIT_REF_EXACT_H */
