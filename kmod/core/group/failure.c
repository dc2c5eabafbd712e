// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../trace.h"
#include "failure.h"
#include "group.h"
#include "link.h"
#include "op_state.h"
#include "parts.h"
#include "ref.h"

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

/* Fix the result of every posted op; each ends when its last ref goes. */
static void coll_group_end_ops(struct coll_group *g)
{
	struct coll_op *op, *next;
	LIST_HEAD(ending);

	spin_lock(&g->lock);
	list_for_each_entry(op, &g->ops, list)
		if (coll_op_end(op, -g->error))
			list_add_tail(&op->todo, &ending);
	spin_unlock(&g->lock);
	list_for_each_entry_safe(op, next, &ending, todo)
		coll_op_put(op);
}

void coll_group_fail(struct coll_group *g, const struct coll_cause *cause)
{
	/*
	 * Ending ops may drop the last reference but ours. If there is none,
	 * the group is being reaped and a link's last work has found something
	 * wrong: nobody is left to hear of it.
	 */
	if (!kref_get_unless_zero(&g->ref))
		return;
	spin_lock(&g->lock);
	if (g->error) {
		spin_unlock(&g->lock);
		coll_group_put(g);
		return;
	}
	g->cause = *cause;
	WRITE_ONCE(g->error, cause->error);
	coll_parts_failing_locked(g);
	spin_unlock(&g->lock);

	coll_user_hurry(g->user);	/* they hold what is to end */
	trace_coll_abort(g->id, cause->seq, cause->kind, cause->error, cause->rank);
	coll_links_call(g);	/* ABORT goes first, our own ops after */
	coll_group_end_ops(g);
	coll_parts_fail(g);
	coll_group_put(g);
}

void coll_group_check_pending(struct coll_group *g)
{
	struct coll_cause cause;
	struct coll_op *op;
	bool due;

	spin_lock(&g->lock);
	op = list_first_entry_or_null(&g->ops, struct coll_op, list);
	due = g->pending_failure.kind && !g->error && (!op || op->seq >= g->pending_failure.seq);
	if (due)
		cause = g->pending_failure;
	spin_unlock(&g->lock);
	if (due)
		coll_group_fail(g, &cause);
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
