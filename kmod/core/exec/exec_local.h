/* SPDX-License-Identifier: GPL-2.0 */
/* Steps without a link. */
#ifndef COLL_CORE_EXEC_LOCAL_H
#define COLL_CORE_EXEC_LOCAL_H

#include <linux/types.h>

struct coll_exec;
struct coll_op;

/**
 * coll_exec_start() - start the schedule
 * @op: prepared, with a ref of the caller's
 */
void coll_exec_start(struct coll_op *op);

/*
 * Count the bytes of local steps, and decide how helpers do them. Call this before other threads
 * can find the plan: after that links may kick helpers, which change their lists of steps.
 */
void coll_local_plan(struct coll_exec *x);

/* Prepare the helpers for kicks, before other threads can find them. */
void coll_helpers_init(struct coll_exec *x);

#endif /* COLL_CORE_EXEC_LOCAL_H */
