/* SPDX-License-Identifier: GPL-2.0 */
/* The tally of a fusion: which steps go through which tensors. */
#ifndef COLL_CORE_PLAN_TALLY_H
#define COLL_CORE_PLAN_TALLY_H

struct coll_plan;

/*
 * All steps are laid out: set the tally of the plan, if it is a fusion of more bytes than are done
 * in one go. There is no tally without memory for it, or if a step works on other pieces than it
 * writes: then all tensors end with the op.
 */
void coll_plan_tally(struct coll_plan *p);

#endif /* COLL_CORE_PLAN_TALLY_H */
