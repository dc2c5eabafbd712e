/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Which operator is defined on which type: the one table that the command
 * decoder, the dispatcher, the library and the tests all read.
 */
#ifndef COLL_PURE_OPTABLE_H
#define COLL_PURE_OPTABLE_H

#include "env.h"

/*
 * Properties of a type: coll_dtype_flags().
 * INTEGER: an integer, or bits; sums and products have the same bits in any order
 * FLOAT: a real floating-point number
 * X87: its operators need the x87
 * PADDED: an element has bytes without a value
 */
#define COLL_DTYPE_INTEGER	(1U << 0)
#define COLL_DTYPE_FLOAT	(1U << 1)
#define COLL_DTYPE_X87		(1U << 2)
#define COLL_DTYPE_PADDED	(1U << 3)

/**
 * coll_dtype_size() - bytes of one element
 * @dtype: enum coll_dtype, any number
 *
 * Return: the size, 0 for a number that is no dtype with a size of its own.
 */
u32 coll_dtype_size(u32 dtype);

/* Properties of @dtype, any number: COLL_DTYPE_*. 0 if it is no dtype. */
u32 coll_dtype_flags(u32 dtype);

/**
 * coll_op_defined() - may this operator be applied to this type, here and now?
 * @op: enum coll_op_code, any number
 * @dtype: enum coll_dtype, any number
 */
bool coll_op_defined(u32 op, u32 dtype);

/* Names for tools and messages ("sum", "f32", "allreduce"); NULL if unknown. */
const char *coll_op_name(u32 op);
const char *coll_dtype_name(u32 dtype);
const char *coll_collective_name(u32 collective);

#endif /* COLL_PURE_OPTABLE_H */
