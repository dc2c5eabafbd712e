// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../trace.h"
#include "../worker.h"
#include "account.h"
#include "failure.h"
#include "group.h"
#include "link.h"
#include "op_state.h"
#include "parts.h"
#include "ref.h"

/* Largest number of ops that are ended each time group->lock is taken. */
#define COLL_END_SLICE	64

struct workqueue_struct *coll_alarm_wq;

int coll_failure_init(void)
{
	coll_alarm_wq = alloc_workqueue("coll_alarm", WQ_UNBOUND, 0);
	return coll_alarm_wq ? 0 : -ENOMEM;
}

void coll_failure_exit(void)
{
	destroy_workqueue(coll_alarm_wq);
}

void coll_group_cause(const struct coll_group *g, struct coll_cause *c,
		      u32 kind, int error, u32 rank, u64 seq)
{
	memset(c, 0, sizeof(*c));
	c->kind = kind;
	c->error = error;
	c->rank = rank;
	c->node = rank < g->size ? g->node_of[rank] : COLL_RANK_NONE;
	c->seq = seq;
	if (c->node == g->node)
		strscpy(c->host, g->host, sizeof(c->host));
}

/*
 * Fix the results of up to COLL_END_SLICE posted ops. The last op of the slice before is still in
 * @ending: its ref keeps it in the queue, and the walk goes on behind it. The few running ops whose
 * result is fixed already do not count. Under group->lock. Return: there may be more.
 */
static bool coll_group_end_slice_locked(struct coll_group *g, struct list_head *ending)
{
	struct list_head *at = list_empty(ending) ? &g->ops :
			       &list_last_entry(ending, struct coll_op, todo)->list;
	struct coll_op *op = list_entry(at, struct coll_op, list);
	u32 n = 0;

	lockdep_assert_held(&g->lock);
	list_for_each_entry_continue(op, &g->ops, list) {
		if (!coll_op_end(op, -g->error))
			continue;
		list_add_tail(&op->todo, ending);
		if (++n == COLL_END_SLICE)
			break;
	}
	trace_coll_walk(g->id, n);
	return n == COLL_END_SLICE;
}

/*
 * Fix the result of every posted op; each ends when its last ref goes. No further op is posted,
 * because the group has failed. There may be very many ops.
 */
static void coll_group_end_ops(struct coll_group *g)
{
	struct coll_op *op, *next;
	LIST_HEAD(ending);
	bool more = true;

	while (more) {
		spin_lock(&g->lock);
		more = coll_group_end_slice_locked(g, &ending);
		spin_unlock(&g->lock);
		list_for_each_entry_safe(op, next, &ending, todo) {
			if (more && list_is_last(&op->todo, &ending))
				break;
			list_del(&op->todo);
			coll_op_put(op);
		}
		cond_resched();
	}
}

bool coll_group_fail_locked(struct coll_group *g, const struct coll_cause *cause)
{
	lockdep_assert_held(&g->lock);
	/*
	 * Ending ops may drop all references but ours. If there is no reference
	 * left, the group is being reaped, and the last work of a link has found
	 * an error: no rank is left that could get it.
	 */
	if (g->error || !kref_get_unless_zero(&g->ref))
		return false;
	g->cause = *cause;
	g->first_open = g->ended + 1;
	WRITE_ONCE(g->error, cause->error);
	coll_parts_failing_locked(g);
	return true;
}

/* Tell the first failure to the other nodes. */
static void coll_group_tell(struct coll_group *g)
{
	const struct coll_cause *cause = &g->cause;

	coll_user_hurry(g->user);	/* its workers hold refs of ops that have to end */
	trace_coll_abort(g->id, cause->seq, cause->kind, cause->error, cause->rank);
	coll_links_alert(g);	/* ABORT is sent first, then our own ops end */
}

/* End everything that is in flight. */
static void coll_group_end(struct coll_group *g)
{
	coll_group_end_ops(g);
	coll_parts_fail(g);
}

void coll_group_failed(struct coll_group *g)
{
	coll_group_tell(g);
	coll_group_end(g);
	coll_group_put(g);
}

void coll_group_failed_soon(struct coll_group *g)
{
	coll_group_tell(g);
	/* Queued once at most: there is only one first failure. */
	queue_work(g->user->end_wq, &g->failing);
}

/* As coll_group_fail_locked(), for callers without the lock. */
static bool coll_group_store(struct coll_group *g, const struct coll_cause *cause)
{
	bool first;

	spin_lock(&g->lock);
	first = coll_group_fail_locked(g, cause);
	spin_unlock(&g->lock);
	return first;
}

void coll_group_fail(struct coll_group *g, const struct coll_cause *cause)
{
	if (coll_group_store(g, cause))
		coll_group_failed(g);
}

void coll_group_fail_soon(struct coll_group *g, const struct coll_cause *cause)
{
	if (coll_group_store(g, cause))
		coll_group_failed_soon(g);
}

void coll_group_failing(struct work_struct *work)
{
	struct coll_group *g = container_of(work, struct coll_group, failing);
	struct coll_worker w;

	coll_worker_begin(&w, g->user, &g->error);
	coll_group_end(g);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	coll_group_put(g);
}

/*
 * Have all ops before @seq ended? If no op is posted, those that have ended count: the ranks of this
 * node may post further ops that need nothing of the node that has failed. Named collectives are
 * not posted by ranks, and none starts any more. Under group->lock.
 */
static bool coll_ops_before_have_ended_locked(struct coll_group *g, u64 seq)
{
	const struct coll_op *op = list_first_entry_or_null(&g->ops, struct coll_op, list);

	lockdep_assert_held(&g->lock);
	if (op)
		return op->seq >= seq;
	return g->tensors || g->ended + 1 >= seq;
}

void coll_group_check_pending(struct coll_group *g)
{
	const struct coll_cause *cause = &g->pending_failure;
	bool first;

	spin_lock(&g->lock);
	first = cause->kind && coll_ops_before_have_ended_locked(g, cause->seq) &&
		coll_group_fail_locked(g, cause);
	spin_unlock(&g->lock);
	if (first)
		coll_group_failed(g);
}

void coll_group_fail_later_locked(struct coll_group *g, const struct coll_cause *cause)
{
	lockdep_assert_held(&g->lock);
	if (!g->pending_failure.kind || cause->seq < g->pending_failure.seq)
		g->pending_failure = *cause;
}

void coll_group_fail_later(struct coll_group *g, const struct coll_cause *cause)
{
	spin_lock(&g->lock);
	coll_group_fail_later_locked(g, cause);
	spin_unlock(&g->lock);
	coll_group_check_pending(g);
}

bool coll_group_fails_at(const struct coll_group *g, u64 seq)
{
	lockdep_assert_held(&g->lock);
	return g->pending_failure.kind && seq >= g->pending_failure.seq;
}
