/* SPDX-License-Identifier: GPL-2.0 */
/* Laying a schedule out over the buffers of an op: what its files share. */
#ifndef COLL_CORE_PLAN_PRIV_H
#define COLL_CORE_PLAN_PRIV_H

#include "../../pure/collective.h"
#include "../exec/exec.h"

/**
 * struct coll_plan - known while a schedule is laid out, and not after
 * @x: what is being made
 * @op: its op
 * @kind: of its collective
 * @alg: algorithm
 * @n: participants
 * @root: participant that is the root, or 0
 * @source: rank whose input alone is the result, COLL_RANK_NONE: there is none
 * @chunks: of W
 * @tmp: chunks of TMP
 * @starts: blocks: where the chunks of W begin in scratch, in elements, and where they
 *	end; NULL: the vector is flat
 * @whole: elements of W in scratch, for one block of the plan
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
};

/* plan_place.c */

/**
 * coll_plan_blocks() - into how many blocks to cut the vectors
 * @p: all but @starts and @whole are set
 *
 * Sets x->blocks, @starts and @whole. What it decides depends on what all ranks
 * agree on only, for transfers are numbered across blocks.
 * Return: 0 or -ENOMEM.
 */
int coll_plan_blocks(struct coll_plan *p);

/**
 * coll_plan_place() - give a step its bytes
 * @p: plan
 * @i: index of the step; ->s and ->part are set, of the steps before it all is
 * @block: the block it belongs to
 */
void coll_plan_place(struct coll_plan *p, u32 i, u32 block);

/* Scratch for those participants whose steps write any. Return: 0 or -ENOMEM. */
int coll_plan_scratch(struct coll_plan *p);

/**
 * coll_plan_check() - do all steps stay inside of the vectors?
 * @p: plan, all steps placed, pairs joined, scratch there
 *
 * They do, or counts disagree in a way that nothing before has seen: whatever the
 * reason, no step may touch what is not its own.
 * Return: 0 or -EBADE.
 */
int coll_plan_check(struct coll_plan *p);

/* plan_alias.c */

/*
 * Find the local steps that would only copy what can be read where it is: those are idle,
 * as are those without bytes. All steps are placed, pairs not joined.
 */
void coll_plan_aliases(struct coll_plan *p);

/* plan_keep.c */

/**
 * coll_plans_take() - a plan that was made for an op like this one
 * @op: about to start
 *
 * Return: the plan, the caller's now; its vectors are those of another op. NULL: there
 * is none.
 */
struct coll_exec *coll_plans_take(const struct coll_op *op);

/* Of a plan that is laid out. */
u64 coll_plan_scratch_bytes(const struct coll_exec *x);

/* Say in a new plan which ops it will do for. */
void coll_plan_label(struct coll_plan *p);

/* plan_peers.c */

/**
 * coll_plan_pairs() - join transfers between participants of this node
 * @p: plan, all steps placed
 *
 * Return: 0, -ENOMEM, -EBADE their lengths differ.
 */
int coll_plan_pairs(struct coll_plan *p);

/**
 * coll_plan_peers() - put the transfers with each peer node into their order
 * @p: plan, all steps placed, pairs joined
 *
 * Return: 0, -ENOMEM, -ENOTCONN there is no link.
 */
int coll_plan_peers(struct coll_plan *p);

/* Node that a participant lives on. */
u32 coll_plan_node(const struct coll_plan *p, u32 participant);

#endif /* COLL_CORE_PLAN_PRIV_H */
