/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One pass over several vectors: read every input, write every output. This file handles
 * pages and elements; it does not use ops or sockets.
 */
#ifndef COLL_CORE_SWEEP_H
#define COLL_CORE_SWEEP_H

#include "buf.h"
#include "reduce.h"

/**
 * struct coll_operands - vectors on one side of a sweep
 * @vec: the vectors
 * @nr: number of @vec
 * @size: bytes of one element in them
 * @base: byte offset of the first element
 */
struct coll_operands {
	const struct coll_vec *vec;
	unsigned int nr;
	u32 size;
	u64 base;
};

/**
 * struct coll_sweep_args - what to do
 * @reducer: the operator; NULL: copy the (only) input
 * @final: outputs are results, else partial results
 * @nr_folded: number of leading inputs that are partial results, including received bytes
 * @scale: premulsum: factors of the other inputs
 * @recv_size: bytes of one received element
 * @wire: type of received elements, if it differs from the type in memory; else NULL
 * @stream: store results past the caches: outputs are not inputs, and not read again soon
 * @atomic: the caller must not sleep; all pages are pinned, and few elements are swept
 * @recv_last: received elements are folded after the inputs, else before them
 * @in: inputs, in the order of the fold
 * @out: outputs, at least 1
 *
 * Elements of copies are bytes, except with @wire.
 */
struct coll_sweep_args {
	const struct coll_reducer *reducer;
	bool final;
	bool stream;
	bool atomic;
	bool recv_last;
	unsigned int nr_folded;
	const u64 *scale;
	u32 recv_size;
	const struct coll_wire_type *wire;
	struct coll_operands in[2];
	struct coll_operands out;
};

/*
 * struct coll_sweep - scratch for one sweep at a time
 *
 * Belongs to one worker. Too large for the stack: holds a run per vector.
 */
struct coll_sweep;

/**
 * coll_sweep_alloc() - allocate what a worker needs for sweeps
 * @nr_local: ranks of the node: the most inputs and outputs of ranks
 * @elem: bytes of the largest element of all operands
 * @wide: operators may have partial results with more room
 *
 * Return: NULL if there is no memory.
 */
struct coll_sweep *coll_sweep_alloc(unsigned int nr_local, u32 elem, bool wide);
void coll_sweep_free(struct coll_sweep *sw);

/**
 * coll_sweep() - reduce or copy a range
 * @sw: scratch
 * @a: what to do
 * @recv: received elements, or NULL. Any alignment.
 * @off: first element, counted from the base of the operands
 * @count: elements
 *
 * Vectors may have any alignment; elements may straddle pages.
 *
 * Return: 0, or -EFAULT or -ESRCH as coll_vec_run().
 */
int coll_sweep(struct coll_sweep *sw, const struct coll_sweep_args *a,
	       const void *recv, u64 off, u64 count);

/**
 * coll_sweep_narrow() - round elements of a vector to the type on links
 * @w: the type on links
 * @vec: elements of f32
 * @at: byte offset of the first one
 * @to: result
 * @count: elements
 *
 * Return: as coll_sweep().
 */
int coll_sweep_narrow(const struct coll_wire_type *w, const struct coll_vec *vec, u64 at,
		      void *to, u32 count);

#endif /* COLL_CORE_SWEEP_H */
