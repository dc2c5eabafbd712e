/* SPDX-License-Identifier: GPL-2.0 */
/* Which ops of a group run, and which callers help them. */
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
 * @w: worker that does it, until it is over; NULL: a caller
 *
 * Takes slices of an N-way sweep as long as there are any. The caller makes sure
 * that @req stays allocated.
 */
void coll_req_help(struct coll_req *req, struct coll_worker *w);

/* Is there anything coll_req_help() could do just now? */
bool coll_req_can_help(struct coll_req *req);

/*
 * May small ops of a group run beside a large one, and end before it? The coordinator of named
 * collectives says when, all ranks are here, and their results come in any order.
 */
static inline bool coll_ops_overtake(const struct coll_group *g)
{
	return g->watch && g->nr_nodes == 1;
}

/**
 * coll_group_can_help() - is there anything coll_group_help() could do just now?
 * @g: group
 *
 * A rank that says that it is away, and asks after a full barrier, learns of every op that has
 * counted on it.
 */
bool coll_group_can_help(struct coll_group *g);

/**
 * coll_group_help() - work on an op of a group that is open for that
 * @g: group
 * @w: as of coll_req_help()
 * @done: set by another thread when the caller has better things to do; workers do the rest. NULL:
 *	never
 */
void coll_group_help(struct coll_group *g, struct coll_worker *w, const bool *done);

/*
 * Start ops whose turn has come. If there are many, a work item goes on with them after a while, or
 * if the caller has a signal pending. Process context, no locks.
 */
void coll_group_advance(struct coll_group *g);

/*
 * A work item is to start and to complete ops: the caller is over. Process context; the caller has
 * a reference to the group.
 */
void coll_ops_go_on_later(struct coll_group *g);

/* When a thread that starts or completes ops one after the other is over, in jiffies. */
static inline unsigned long coll_ops_end(void)
{
	return jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1;
}

/* Is it over? Ranks are not kept from their signals by ops of others. */
static inline bool coll_ops_are_over(unsigned long end)
{
	return time_after(jiffies, end) || task_sigpending(current);
}

/**
 * coll_ops_running() - the running ops of a group, each with a ref
 * @g: group
 * @ops: result, oldest first: room for COLL_RUNNING_MAX
 *
 * Not those that are ending: links that look again and again would keep them from their end
 * by turns. None of a group that has failed.
 * Return: how many.
 */
u32 coll_ops_running(struct coll_group *g, struct coll_op **ops);

/* The next state of an op, which has to be one that may follow. Under group->lock. */
void coll_op_set_state(struct coll_op *op, enum coll_op_state state);

/* Take an op that has ended out of the queue, whether it has started or not. Under group->lock. */
void coll_op_leave(struct coll_group *g, struct coll_op *op);

#endif /* COLL_CORE_OP_RUN_H */
