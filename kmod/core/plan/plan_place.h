/* SPDX-License-Identifier: GPL-2.0 */
/* The bytes of each step of a plan. */
#ifndef COLL_CORE_PLAN_PLACE_H
#define COLL_CORE_PLAN_PLACE_H

#include <linux/types.h>

struct coll_part;
struct coll_plan;

/* A part of @n elements: where it begins, and how many there are. */
struct coll_cut {
	u64 at;
	u64 n;
};

/* Which part of a buffer the rank has: COLL_HAS_*. */
u8 coll_part_has(const struct coll_plan *p, const struct coll_part *part, bool out);

/* Where chunk @i of a vector with blocks is in an input or output of an op in one block. */
struct coll_cut coll_plan_block(const struct coll_plan *p, const struct coll_part *part,
				bool out, u32 i);

/**
 * coll_plan_blocks() - into how many blocks to cut the vectors
 * @p: all but @starts and @whole are set
 *
 * Sets x->blocks, @starts and @whole. Its decision depends only on what all ranks agree on,
 * because transfers are numbered across blocks. Return: 0 or -ENOMEM.
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
 * coll_plan_check() - do all steps stay inside of the vectors, and write to outputs only?
 * @p: plan, all steps placed, pairs joined, scratch there
 *
 * They do, or counts disagree in a way that nothing before has seen: whatever the
 * reason, no step may touch what is not its own.
 * Return: 0 or -EBADE.
 */
int coll_plan_check(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_PLACE_H */
