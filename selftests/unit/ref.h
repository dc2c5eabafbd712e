/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The expected results of reductions, computed slowly from the text of pure/reduction/reduce.h:
 * no hardware floats, no table, no vector, nothing shared with kmod. A float is taken apart
 * into an integer times a power of two, each step is done on exact integers, and rounded by
 * hand.
 */
#ifndef COLL_UNIT_REF_H
#define COLL_UNIT_REF_H

#include "pure/reduction/reduce.h"

typedef unsigned __int128 u128;

/* Bytes of the largest element. */
#define REF_MAX_SIZE	32

/* Two numbers at most make an element; what lies between them is padding. */
struct ref_type {
	u32 size;	/* 0: not a type with a size of its own */
	u32 nr;
	u32 kind[2];	/* simple dtypes: integers, floats, bool, byte */
	u32 offset[2];
};

const struct ref_type *ref_type(u32 dtype);

/* Bytes of a simple dtype that carry something: 10 of a long double. */
u32 ref_kind_bytes(u32 kind);
bool ref_kind_is_float(u32 kind);
bool ref_kind_is_signed(u32 kind);

/* (-1)^neg * m * 2^e, or infinite, or NaN */
struct ref_num {
	bool nan, inf, neg;
	int e;
	u128 m;
};

/* A format of floats. */
struct ref_format {
	int digits;		/* of the significand, the first one counted */
	int exponent_bits;
	int unit;		/* of the least denormal: 2^unit */
	int top;		/* the largest is less than 2^(top + 1) */
	u64 largest;		/* encoding of the largest finite number */
	bool infinities;	/* there are such; then the largest exponent is not finite */
};

const struct ref_format *ref_format(u32 kind);

/* ref_num.c: floats by definition */
struct ref_num ref_decode(u32 kind, const u8 *p);
void ref_encode(u32 kind, struct ref_num x, u8 *p);
struct ref_num ref_add(const struct ref_format *f, struct ref_num a, struct ref_num b);
struct ref_num ref_mul(const struct ref_format *f, struct ref_num a, struct ref_num b);
struct ref_num ref_div(const struct ref_format *f, struct ref_num a, u32 divisor);
/* -1, 0, 1; neither may be NaN; -0 equals +0 */
int ref_compare(struct ref_num a, struct ref_num b);

/**
 * ref_fold() - reduce one element
 * @elem: @nr of them, at any address
 * @arg: as for the kernels; its factors and divisor are those of this element
 * @out: gets the result, padding zeroed
 */
void ref_fold(u32 dtype, u32 op, const u8 *const *elem, u32 nr,
	      const struct coll_reduce_arg *arg, u8 *out);

#endif /* COLL_UNIT_REF_H */
