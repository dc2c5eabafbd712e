/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the executor share. */
#ifndef COLL_CORE_EXEC_PRIV_H
#define COLL_CORE_EXEC_PRIV_H

#include <linux/sched/signal.h>

#include "exec.h"

/* exec_step.c */

/**
 * coll_step_limit() - how far a step may go now
 * @x: of a running op, with a use
 * @st: step
 * @open: result: may it begin?
 *
 * Return: bytes, from the beginning of the step.
 */
u64 coll_step_limit(struct coll_exec *x, const struct coll_exec_step *st, bool *open);

/* Must its block wait for an earlier one? */
bool coll_step_waits(struct coll_exec *x, const struct coll_exec_step *st);

/* Operands of a local or receive step. */
void coll_step_args(const struct coll_exec *x, const struct coll_exec_step *st,
		    struct coll_sweep_args *a);

/* exec_local.c */

/*
 * How much there is to do locally, and by whom. Before anybody can find the plan: then
 * links may kick helpers, and the lists change.
 */
void coll_local_plan(struct coll_exec *x);

/* Make the helpers able to be kicked, before anybody can find them. */
void coll_helpers_init(struct coll_exec *x);

/*
 * A thread of a rank is to stop, or to run a handler, or dies: it finishes the slice it is
 * at, and a worker does the rest. What is small is less than a slice.
 */
static inline bool coll_helper_must_go(const struct coll_exec *x)
{
	return !x->small && signal_pending(current);
}

#endif /* COLL_CORE_EXEC_PRIV_H */
