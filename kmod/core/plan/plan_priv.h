/* SPDX-License-Identifier: GPL-2.0 */
/* Laying a schedule out over the buffers of an op: declarations for the files of this room. */
#ifndef COLL_CORE_PLAN_PRIV_H
#define COLL_CORE_PLAN_PRIV_H

#include "../../pure/collective.h"
#include "../exec/exec.h"

/**
 * struct coll_plan - state while a schedule is laid out
 * @x: the plan that is being made
 * @op: its op
 * @kind: of its collective
 * @alg: algorithm
 * @n: participants
 * @root: participant that is the root, or 0
 * @source: rank whose input is the result; COLL_RANK_NONE: there is no such rank
 * @chunks: number of chunks of W
 * @tmp: number of chunks of TMP
 * @starts: if the vector has blocks: where each chunk of W begins in scratch, in elements, and
 *	where the last one ends; NULL: it has no blocks
 * @whole: elements of W in scratch, for one block of the plan
 * @marks: of a fusion: where each chunk begins, and the last one ends; else NULL
 * @room: bytes that steps and scratch may take
 */
struct coll_plan {
	struct coll_exec *x;
	struct coll_op *op;
	const struct coll_kind *kind;
	const struct coll_algorithm *alg;
	u32 n;
	u32 root;
	u32 source;
	u32 chunks;
	u32 tmp;
	u64 *starts;
	u64 whole;
	u64 *marks;
	u64 room;
};

/* Is it a scan whose partial results are larger than results? See struct coll_emit. */
static inline bool coll_plan_is_wide(const struct coll_plan *p)
{
	const struct coll_reducer *r = &p->x->reducer;
	u32 collective = p->op->cmd.collective;

	return (collective == COLL_SCAN || collective == COLL_EXSCAN) &&
	       r->part && r->partial != r->elem;
}

#endif /* COLL_CORE_PLAN_PRIV_H */
