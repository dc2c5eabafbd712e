/* SPDX-License-Identifier: GPL-2.0 */
/* Which ops of a group run, and which threads help them. */
#ifndef COLL_CORE_OP_RUN_H
#define COLL_CORE_OP_RUN_H

#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/types.h>

#include "../group/op_state.h"
#include "../limits.h"

struct coll_group;
struct coll_op;
struct coll_req;
struct coll_worker;

/**
 * coll_req_help() - work on the op of a request instead of sleeping
 * @req: posted, possibly done already
 * @w: worker that does it, until its time is over; NULL: a caller
 *
 * Takes slices of a large sweep as long as there are any. The caller makes sure that @req stays
 * allocated.
 */
void coll_req_help(struct coll_req *req, struct coll_worker *w);

/* Is there work for coll_req_help() now? */
bool coll_req_can_help(struct coll_req *req);

/*
 * May small ops of a group run beside a large one, and end before it? Only for named collectives,
 * which the coordinator orders and whose results may come in any order, and only on one node.
 */
static inline bool coll_ops_overtake(const struct coll_group *g)
{
	return g->watch && g->nr_nodes == 1;
}

/**
 * coll_group_can_help() - is there work for coll_group_help() now?
 * @g: group
 *
 * A thread that sets ->away and calls this after a full barrier learns of every op that relies on
 * its help.
 */
bool coll_group_can_help(struct coll_group *g);

/**
 * coll_group_help() - work on an op of a group that is open to helpers
 * @g: group
 * @w: as of coll_req_help(), or from coll_worker_until()
 * @done: another thread sets it when the caller has to stop; workers do the rest. NULL: the caller
 *	does not stop
 */
void coll_group_help(struct coll_group *g, struct coll_worker *w, const bool *done);

/* Threads of ranks help no more: queue workers for ops that have none because of these threads. */
void coll_group_staff(struct coll_group *g);

/*
 * Start ops whose turn has come. After COLL_WORK_MS, or if the caller has a signal pending, a work
 * item goes on with the rest. Process context, no locks.
 */
void coll_ops_advance(struct coll_group *g);

/*
 * Queue a work item that completes and starts further ops, because the time of the caller is over.
 * Process context; the caller has a reference to the group.
 */
void coll_ops_go_on_later(struct coll_group *g);

/* Jiffies when a thread that starts or completes one op after the other has to stop. */
static inline unsigned long coll_ops_end(void)
{
	return jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1;
}

/* Must the thread stop? Ops of other ranks must not keep a rank from its signals. */
static inline bool coll_ops_are_over(unsigned long end)
{
	return time_after(jiffies, end) || task_sigpending(current);
}

/**
 * coll_ops_running() - the running ops of a group, each with a ref
 * @g: group
 * @ops: result, oldest first: room for COLL_RUNNING_MAX
 *
 * Leaves out ops that are ending: several links that take refs in turn could delay their end
 * forever. Returns none of a group that has failed.
 * Return: number of ops.
 */
u32 coll_ops_running(struct coll_group *g, struct coll_op **ops);

/* Set the state of an op. Warns if it may not follow the present state. Under group->lock. */
void coll_op_set_state(struct coll_op *op, enum coll_op_state state);

/* Take an op that has ended out of the queue, whether it has started or not. Under group->lock. */
void coll_op_leave(struct coll_group *g, struct coll_op *op);

#endif /* COLL_CORE_OP_RUN_H */
