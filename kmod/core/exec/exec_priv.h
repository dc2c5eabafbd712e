/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the executor share. */
#ifndef COLL_CORE_EXEC_PRIV_H
#define COLL_CORE_EXEC_PRIV_H

#include "exec.h"

/* exec_step.c */

/*
 * Something that waits for @st may go on: let the links of its block, which has a link to
 * itself, and helpers look.
 */
void coll_exec_kick(struct coll_exec *x, const struct coll_exec_step *st);

/* A step is over; the last one ends the op. The caller holds a use. */
void coll_step_complete(struct coll_exec *x, struct coll_exec_step *st);

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
 * Have local steps looked at, by a thread of a rank that has nothing else to do or by a
 * worker; of a small op that is the caller. Process context, a use held.
 */
void coll_helper_kick(struct coll_helper *h);

/* Look at them, with a use of the op that is dropped. */
void coll_helper_do(struct coll_helper *h);

#endif /* COLL_CORE_EXEC_PRIV_H */
