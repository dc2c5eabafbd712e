/* SPDX-License-Identifier: GPL-2.0 */
/* One step: its dependencies, its operands, and its end. */
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
 * If the ranks do not know each other's counts, it includes the length of the transfer.
 */
u64 coll_exec_signature(const struct coll_exec *x, const struct coll_exec_step *st);

/**
 * coll_exec_failed() - a buffer has gone, or there is no memory
 * @x: of a running op, with a ref
 * @err: -EFAULT, -ENOMEM; -ESRCH does nothing if the death of a rank will be reported, which is a
 *	better cause
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

/* Must the block of @st wait for an earlier block? */
bool coll_step_waits(struct coll_exec *x, const struct coll_exec_step *st);

/* Is the only input also the first output, as at the root of a broadcast? Then do not write it. */
bool coll_step_keeps_first(const struct coll_part *part, const struct coll_exec_step *st);

/* Operands of a local or receive step. */
void coll_step_args(const struct coll_exec *x, const struct coll_exec_step *st,
		    struct coll_sweep_args *a);

/* A step is over; the last one ends the op. The caller holds a ref. */
void coll_step_complete(struct coll_exec *x, struct coll_exec_step *st);

#endif /* COLL_CORE_EXEC_STEP_H */
