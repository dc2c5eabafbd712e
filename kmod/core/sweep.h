/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One pass over several vectors: read every input, write every output. Knows
 * pages and elements, but neither ops nor sockets.
 */
#ifndef COLL_CORE_SWEEP_H
#define COLL_CORE_SWEEP_H

#include "buf.h"
#include "reduce.h"

/* Largest element any reduction kernel handles. */
#define COLL_ELEM_MAX	32

/**
 * struct coll_sweep_args - what to do
 * @fn: reduction kernel; NULL: copy the (only) input
 * @size: bytes of an element; 1 for copies
 * @in: input vectors
 * @nr_in: how many, may be 0 if there are received bytes
 * @out: output vectors
 * @nr_out: how many, at least 1
 */
struct coll_sweep_args {
	coll_reduce_fn *fn;
	u32 size;
	const struct coll_vec *in;
	unsigned int nr_in;
	const struct coll_vec *out;
	unsigned int nr_out;
};

/*
 * struct coll_sweep - scratch for one sweep at a time
 *
 * Belongs to one worker. Too large for the stack: holds a run per vector.
 */
struct coll_sweep;

/**
 * coll_sweep_alloc() - scratch
 * @nr_local: ranks of the node, bounds inputs and outputs
 *
 * Return: NULL without memory.
 */
struct coll_sweep *coll_sweep_alloc(unsigned int nr_local);
void coll_sweep_free(struct coll_sweep *sw);

/**
 * coll_sweep() - reduce or copy a range
 * @sw: scratch
 * @a: what
 * @first: @len bytes that are folded in before @a->in, or NULL. Any alignment.
 * @off: byte offset in the vectors, on an element border
 * @len: bytes, whole elements
 *
 * Vectors may have any alignment; elements may straddle pages.
 *
 * Return: 0, or -EFAULT or -ESRCH as coll_vec_run().
 */
int coll_sweep(struct coll_sweep *sw, const struct coll_sweep_args *a,
	       const void *first, u64 off, u64 len);

#endif /* COLL_CORE_SWEEP_H */
