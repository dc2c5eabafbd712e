/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tally counts how much of each tensor of a fusion the steps still have to do. A tensor is over,
 * and its rank gets the result, when no step of this node will read or write its vectors any more.
 * The rest of the fusion may still run.
 *
 * Each step goes through the vector of the fusion, or a part of it. For each chunk, the vector has
 * the pieces of all tensors one behind the other (group/fusion.h). So bytes of a step belong
 * to pieces, and a piece to a tensor. The tally counts elements of all pieces of a tensor, once for
 * each step that goes through them. An element counts when the step does not touch it any more. For
 * bytes that are sent without a copy this is later than their sending.
 */
#ifndef COLL_CORE_TALLY_H
#define COLL_CORE_TALLY_H

#include <linux/atomic.h>
#include <linux/types.h>

struct coll_exec;
struct coll_exec_step;
struct coll_req;

/**
 * struct coll_tally - the elements left to do in a fusion that runs
 * @nr: tensors
 * @nr_pieces: number of pieces: @nr for each chunk; @marks has one entry more
 * @marks: where each piece begins, and the last one ends, in elements; piece i is of tensor i % @nr
 * @left: elements that steps still have to do, by tensor
 * @open: number of tensors that have elements and are not over
 * @reqs: request of each rank of this node and each tensor, those of a rank together
 */
struct coll_tally {
	u32 nr;
	u32 nr_pieces;
	u64 *marks;
	atomic64_t *left;
	atomic_t open;
	struct coll_req **reqs;
};

/* A tally without marks, for @chunks chunks and @ranks ranks. Return: NULL if there is no memory. */
struct coll_tally *coll_tally_alloc(u32 nr, u32 chunks, u32 ranks);

/* NULL is fine. */
void coll_tally_free(struct coll_tally *t);

/* Add a step that goes through @n elements from @at on. Before the op runs. */
void coll_tally_add(struct coll_tally *t, u64 at, u64 n);

/* All steps have been added: count the tensors. */
void coll_tally_open(struct coll_tally *t);

/**
 * coll_tally_count() - bytes of a step are not touched any more
 * @x: of a running op, with a ref and a tally
 * @st: step
 * @from: first byte, counted from the beginning of the step
 * @to: behind the last one; an element counts when its last byte does
 *
 * Completes tensors that are over now, except the last one, which ends with the op. Process
 * context, without group->lock. The caller must count no byte of a step twice.
 */
void coll_tally_count(struct coll_exec *x, const struct coll_exec_step *st, u64 from, u64 to);

#endif /* COLL_CORE_TALLY_H */
