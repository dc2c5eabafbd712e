/* SPDX-License-Identifier: GPL-2.0 */
/* Plans that are kept for ops like the last one. */
#ifndef COLL_CORE_PLAN_KEEP_H
#define COLL_CORE_PLAN_KEEP_H

#include <linux/types.h>

struct coll_exec;
struct coll_group_part;
struct coll_op;
struct coll_plan;

extern const struct coll_group_part coll_plan_part;

/**
 * coll_exec_put() - an op has ended: keep its plan for the next one like it, or free it
 * @x: of the op, which nobody uses any more; NULL is fine
 */
void coll_exec_put(struct coll_exec *x);

/**
 * coll_plans_take() - a plan that was made for an op like this one
 * @op: about to start
 *
 * Return: the plan, the caller's now; its vectors are those of another op. NULL: there
 * is none.
 */
struct coll_exec *coll_plans_take(const struct coll_op *op);

/* The key of a plan that is laid out. */
u64 coll_plan_scratch_bytes(const struct coll_exec *x);

/* Say in a new plan which ops it will do for. */
void coll_plan_label(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_KEEP_H */
