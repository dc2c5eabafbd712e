/* SPDX-License-Identifier: GPL-2.0 */
/* The places of the bytes of each step of a plan. */
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

/* The blocks that a rank has in its input or output: COLL_HAS_*. */
u8 coll_part_has(const struct coll_plan *p, const struct coll_part *part, bool out);

/* Place of chunk @i of a vector with blocks in an input or output; the plan has one block. */
struct coll_cut coll_plan_block(const struct coll_plan *p, const struct coll_part *part,
				bool out, u32 i);

/**
 * coll_plan_blocks() - choose the number of blocks into which the vectors are cut
 * @p: all but @starts and @whole are set
 *
 * Sets x->blocks, @starts and @whole. The choice depends only on parameters that all ranks agree
 * on, because transfers are numbered across blocks. Return: 0 or -ENOMEM.
 */
int coll_plan_blocks(struct coll_plan *p);

/**
 * coll_plan_place() - set the places of the bytes of a step
 * @p: plan
 * @i: index of the step; its ->s and ->part are set, and the steps before it are complete
 * @block: the block it belongs to
 */
void coll_plan_place(struct coll_plan *p, u32 i, u32 block);

/* Allocate scratch for the participants whose steps use it. Return: 0 or -ENOMEM. */
int coll_plan_scratch(struct coll_plan *p);

/**
 * coll_plan_check() - check that all steps stay inside of the vectors, and write to outputs only
 * @p: plan: all steps placed, pairs joined, scratch allocated
 *
 * If a step does not, counts disagree in a way that no earlier check has found. Whatever the
 * reason: no step may touch other memory.
 * Return: 0 or -EBADE.
 */
int coll_plan_check(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_PLACE_H */
