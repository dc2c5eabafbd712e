/* SPDX-License-Identifier: GPL-2.0 */
/* Steps without a link. */
#ifndef COLL_CORE_EXEC_LOCAL_H
#define COLL_CORE_EXEC_LOCAL_H

#include <linux/types.h>

struct coll_exec;
struct coll_op;

/**
 * coll_exec_start() - set the schedule going
 * @op: prepared, with a ref of the caller's
 */
void coll_exec_start(struct coll_op *op);

/*
 * How much there is to do locally, and by which helpers. Before the plan can be found: then
 * links may kick helpers, and the lists change.
 */
void coll_local_plan(struct coll_exec *x);

/* Make the helpers able to be kicked, before other threads can find them. */
void coll_helpers_init(struct coll_exec *x);

#endif /* COLL_CORE_EXEC_LOCAL_H */
