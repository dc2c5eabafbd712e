/* SPDX-License-Identifier: GPL-2.0 */
/* The instruction set chosen for this machine, and calls to it. */
#ifndef COLL_CORE_REDUCE_H
#define COLL_CORE_REDUCE_H

#include "../simd/simd.h"

/**
 * coll_reduce_init() - choose the instruction set, once, at load
 * @want: "scalar", "sse2", "avx2", or "" for the best one
 *
 * Return: 0, or -EINVAL if @want is unknown or the CPU does not have it.
 */
int coll_reduce_init(const char *want);

/* Name of the chosen one. */
const char *coll_reduce_name(void);

/**
 * coll_reduce_fn_for() - the kernel for an operator and a type
 * @op: enum coll_op_code
 * @dtype: enum coll_dtype
 *
 * Return: NULL where coll_op_defined() says no.
 */
coll_reduce_fn *coll_reduce_fn_for(u32 op, u32 dtype);

/**
 * coll_reduce_run() - call a reduction kernel, in FPU sections of bounded length
 * @fn: from coll_reduce_fn_for()
 * @size: bytes of an element
 * @out: see coll_reduce_fn; clobbered
 * @nr_out: see coll_reduce_fn
 * @in: see coll_reduce_fn; clobbered
 * @nr_in: see coll_reduce_fn
 * @count: elements
 *
 * Process context.
 */
void coll_reduce_run(coll_reduce_fn *fn, u32 size, void **out,
		     unsigned int nr_out, const void **in, unsigned int nr_in,
		     size_t count);

#endif /* COLL_CORE_REDUCE_H */
