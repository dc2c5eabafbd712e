/* SPDX-License-Identifier: GPL-2.0 */
/* One step: what it waits for, what it works on, and its end. */
#ifndef COLL_CORE_EXEC_STEP_H
#define COLL_CORE_EXEC_STEP_H

#include <linux/types.h>

struct coll_exec;
struct coll_exec_step;
struct coll_part;
struct coll_sweep_args;

/**
 * coll_exec_signature() - the signature that frames of a step carry
 * @x: of a running op, with a ref
 * @st: a send or receive step
 *
 * Where the ranks do not know each other's counts the length of a transfer is in it.
 */
u64 coll_exec_signature(const struct coll_exec *x, const struct coll_exec_step *st);

/**
 * coll_exec_failed() - a buffer has gone, or there is no memory
 * @x: of a running op, with a ref
 * @err: -EFAULT, -ENOMEM; -ESRCH does nothing, for the death of the process is
 *	on its way, and says more
 *
 * Fails the group.
 */
void coll_exec_failed(struct coll_exec *x, int err);

/**
 * coll_step_limit() - how far a step may go now
 * @x: of a running op, with a ref
 * @st: step
 * @open: result: may it begin?
 *
 * Return: bytes, from the beginning of the step.
 */
u64 coll_step_limit(struct coll_exec *x, const struct coll_exec_step *st, bool *open);

/* Must its block wait for an earlier one? */
bool coll_step_waits(struct coll_exec *x, const struct coll_exec_step *st);

/* Is its only input the first output: the bytes of a broadcast's root, say? It stays as it is. */
bool coll_step_keeps_first(const struct coll_part *part, const struct coll_exec_step *st);

/* Operands of a local or receive step. */
void coll_step_args(const struct coll_exec *x, const struct coll_exec_step *st,
		    struct coll_sweep_args *a);

/* A step is over; the last one ends the op. The caller holds a ref. */
void coll_step_complete(struct coll_exec *x, struct coll_exec_step *st);

#endif /* COLL_CORE_EXEC_STEP_H */
