/* SPDX-License-Identifier: GPL-2.0 */
/* Plans that are kept for further ops of the same kind. */
#ifndef COLL_CORE_PLAN_KEEP_H
#define COLL_CORE_PLAN_KEEP_H

#include <linux/types.h>

struct coll_exec;
struct coll_group_part;
struct coll_op;
struct coll_plan;

extern const struct coll_group_part coll_plan_part;

/**
 * coll_exec_put() - an op has ended: keep its plan for an op of the same kind, or free it
 * @x: plan of the op, which is not used any more; NULL is fine
 */
void coll_exec_put(struct coll_exec *x);

/**
 * coll_plans_take() - take a kept plan of an op of the same kind
 * @op: about to start
 *
 * Return: the plan, which the caller owns now; its vectors are those of another op. NULL: there
 * is none.
 */
struct coll_exec *coll_plans_take(const struct coll_op *op);

/* Bytes of scratch of a plan. */
u64 coll_plan_scratch_bytes(const struct coll_exec *x);

/* Set the key of a new plan, so that it can be kept. */
void coll_plan_label(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_KEEP_H */
