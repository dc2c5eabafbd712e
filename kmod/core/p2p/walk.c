// SPDX-License-Identifier: GPL-2.0
/*
 * A walk over all messages of a group: the group has failed, or a rank has left, or a node has
 * failed.
 *
 * There may be very many messages, so group->lock is dropped after each slice, and a walk cannot
 * keep its place in the list. Each walk has a number, and each message the number of the last
 * walk that has looked at it. A walk takes the first message, looks at it, gives it the number of
 * the newest walk, and puts it at the end. So the list stays sorted by that number, and a walk is
 * over when the first message has its own number or a later one. A message that is posted
 * meanwhile counts as looked at: its poster has seen the reason for the walk, and would have been
 * refused.
 *
 * Two walks may run at once, and one may look at a message on behalf of the other. That is
 * correct, because each walk decides about a message by the state of the group alone, and the
 * reason for a walk is in that state before the walk begins.
 */
#include <linux/bitmap.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "../group/account.h"
#include "../group/group.h"
#include "../group/ref.h"
#include "../trace.h"
#include "../worker.h"
#include "exchange.h"
#include "messages.h"
#include "peer.h"
#include "ranks.h"
#include "state.h"
#include "walk.h"

/* Does this end wait for a partner that can never come? */
static bool coll_msg_is_lost_locked(const struct coll_group *g, const struct coll_msg *msg)
{
	u32 partner = coll_msg_partner(msg);

	lockdep_assert_held(&g->lock);
	if (!coll_msg_waits(msg))
		return false;
	return partner == COLL_RANK_ANY ? coll_msgs_alone(g) : test_bit(partner, g->msgs->left);
}

/*
 * Does this end need a node that has failed, or may it wait for a rank of such a node? An end that
 * has been cancelled, or a probe that has found its message, is about to end and waits for nobody.
 */
static bool coll_msg_misses_locked(const struct coll_group *g, const struct coll_msg *msg)
{
	u32 partner = coll_msg_partner(msg);

	lockdep_assert_held(&g->lock);
	if (coll_msg_ending(msg->lead))
		return false;
	if (partner == COLL_RANK_ANY)
		return coll_msg_waits(msg);
	return test_bit(g->node_of[partner], g->msgs->down);
}

/*
 * Decide about a message. During coll_msgs_without() a message that needs a failed node is not
 * ended: the communicator is about to fail.
 */
static void coll_msg_judge_locked(struct coll_group *g, struct coll_msg *msg,
				  struct list_head *ending)
{
	lockdep_assert_held(&g->lock);
	if (g->error) {
		if (coll_msg_end(msg->lead, -g->error))
			list_add_tail(&msg->lead->todo, ending);
	} else if (g->msgs->nr_asking && coll_msg_misses_locked(g, msg)) {
		g->msgs->missed = true;
	} else if (coll_msg_is_lost_locked(g, msg)) {
		coll_msg_give_up(msg, -EHOSTDOWN, ending);
	}
}

/* Return: may there be more? */
static bool coll_msgs_slice_locked(struct coll_group *g, u64 walk, struct list_head *ending)
{
	struct coll_msgs *ms = g->msgs;
	struct coll_msg *msg;
	u32 n;

	lockdep_assert_held(&g->lock);
	for (n = 0; n < COLL_MSG_SLICE; n++) {
		msg = list_first_entry_or_null(&ms->all, struct coll_msg, all);
		if (!msg || msg->walked >= walk)
			break;
		msg->walked = ms->walks;
		list_move_tail(&msg->all, &ms->all);
		coll_msg_judge_locked(g, msg, ending);
	}
	trace_coll_walk(g->id, n);
	return n == COLL_MSG_SLICE;
}

/* Begin a walk, whose reason is in the state of the group already. Under group->lock. */
static u64 coll_msgs_walk_begin_locked(struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	return ++g->msgs->walks;
}

static void coll_msgs_walk(struct coll_group *g, u64 walk)
{
	bool more = true;

	while (more) {
		LIST_HEAD(ending);

		spin_lock(&g->lock);
		more = coll_msgs_slice_locked(g, walk, &ending);
		spin_unlock(&g->lock);
		coll_msgs_finish(&ending);
		cond_resched();
	}
}

/*
 * The group has failed, and its files may stay open: its offers would count as early bytes of the
 * user. There may be very many, and the thread that found the failure may hold a connection that
 * others need.
 */
static void coll_msgs_drop_work(struct work_struct *work)
{
	struct coll_msgs *ms = container_of(work, struct coll_msgs, drop);
	struct coll_group *g = ms->boxes[0].group;
	struct coll_worker w;
	bool more;

	coll_worker_begin(&w, g->user, &g->error);
	more = coll_msg_drop_some(g);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	if (!more || !queue_work(g->user->wq, work))
		coll_group_put(g);
}

/* The group has failed: end them all, each as soon as its pages are free. Drop offers. */
static void coll_msgs_fail(struct coll_group *g)
{
	u64 walk;

	spin_lock(&g->lock);
	walk = coll_msgs_walk_begin_locked(g);
	spin_unlock(&g->lock);
	coll_msgs_walk(g, walk);
	coll_group_get(g);
	if (!queue_work(g->user->wq, &g->msgs->drop))
		coll_group_put(g);
}

/* Return: true for the first call only. */
static bool coll_msgs_mark_left_locked(struct coll_group *g, u32 rank)
{
	lockdep_assert_held(&g->lock);
	if (test_and_set_bit(rank, g->msgs->left))
		return false;
	g->msgs->nr_left++;
	return true;
}

/*
 * A rank of this node leaves. Its mark is set before BYE may be sent: from then on no offer to the
 * rank is answered by CTS, because BYE answers them all.
 */
static void coll_msgs_leaving_locked(struct coll_group *g, struct coll_left *l)
{
	lockdep_assert_held(&g->lock);
	coll_msgs_mark_left_locked(g, l->rank);
}

/*
 * A rank has left in order. Messages that wait for it end with -EHOSTDOWN, and those for any
 * rank if all others have left. No other message ends, and the communicator goes on.
 */
static void coll_msgs_left(struct coll_group *g, u32 rank)
{
	bool local = g->node_of[rank] == g->node;
	u64 walk = 0;

	spin_lock(&g->lock);
	/* A rank of this node has been marked already, and leaves once. */
	if (local || coll_msgs_mark_left_locked(g, rank))
		walk = coll_msgs_walk_begin_locked(g);
	spin_unlock(&g->lock);
	if (!walk)
		return;
	coll_msgs_walk(g, walk);
	if (local)
		coll_msg_drop_offers(g, &g->msgs->boxes[coll_msg_local(g, rank)]);
}

bool coll_msgs_without(struct coll_group *g, u32 node)
{
	bool missed;
	u64 walk;
	u32 i;

	spin_lock(&g->lock);
	g->msgs->node_failed = true;
	if (!g->msgs->nr_asking++)
		g->msgs->missed = false;
	set_bit(node, g->msgs->down);
	for (i = 0; i < g->size; i++)
		if (g->node_of[i] == node)
			coll_msgs_mark_left_locked(g, i);
	spin_unlock(&g->lock);
	coll_msg_drop_offers_from(g, node);
	/* The walk begins after that: it finds a receive that has taken such an offer meanwhile. */
	spin_lock(&g->lock);
	walk = coll_msgs_walk_begin_locked(g);
	spin_unlock(&g->lock);
	coll_msgs_walk(g, walk);
	spin_lock(&g->lock);
	missed = g->msgs->missed;
	g->msgs->nr_asking--;
	spin_unlock(&g->lock);
	return missed;
}

static int coll_p2p_init(struct coll_group *g, u32 flags)
{
	int ret = coll_msgs_init(g);

	if (!ret)
		INIT_WORK(&g->msgs->drop, coll_msgs_drop_work);
	return ret;
}

const struct coll_group_part coll_p2p_part = {
	.init = coll_p2p_init,
	.leaving_locked = coll_msgs_leaving_locked,
	.left = coll_msgs_left,
	.fail = coll_msgs_fail,
	.free = coll_msgs_free,
};
