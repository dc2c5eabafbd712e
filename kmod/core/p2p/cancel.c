// SPDX-License-Identifier: GPL-2.0
/*
 * Cancels messages that have no partner yet.
 *
 * A receive, and a send within the node, are cancelled on the spot, under group->lock. So is a
 * send to another node whose RTS has not gone out. After RTS the other node may be matching the
 * send just now. So this node sends CANCEL. The CTS, which the RTS gets anyway, tells which of
 * the two came first.
 */
#include <linux/lockdep.h>
#include <linux/sched.h>

#include "../group/group.h"
#include "../group/member.h"
#include "../trace.h"
#include "cancel.h"
#include "exchange.h"
#include "handles.h"
#include "peer.h"
#include "state.h"

/* Queue CANCEL to the node that has the offer. Under group->lock. */
static void coll_msg_withdraw_locked(struct coll_group *g, struct coll_msg *msg)
{
	lockdep_assert_held(&g->lock);
	if (msg->withdrawn)
		return;
	msg->withdrawn = true;
	list_add_tail(&msg->note.list, &g->msgs->peers[g->node_of[msg->note.dest]].frames);
}

/* @kick: result: node that CANCEL is due to; unchanged: none. Under group->lock. */
static int coll_exchange_cancel_locked(struct coll_exchange *x, struct list_head *ending, u32 *kick)
{
	struct coll_msg *msg = x->send.state == COLL_MSG_NONE ? &x->recv : &x->send;
	struct coll_group *g = x->g;

	lockdep_assert_held(&g->lock);
	if (x->send.state != COLL_MSG_NONE && x->recv.state != COLL_MSG_NONE)
		return -EINVAL;
	if (msg->state != COLL_MSG_POSTED)
		return -EALREADY;
	if (msg->is_asked) {
		coll_msg_withdraw_locked(g, msg);
		*kick = g->node_of[msg->note.dest];
	} else {
		coll_msg_give_up(msg, -ECANCELED, ending);
	}
	return 0;
}

int coll_msg_cancel(struct coll_member *m, u64 handle)
{
	struct coll_group *g = coll_member_group(m);
	u32 kick = COLL_RANK_NONE;
	struct coll_exchange *x;
	int ret = -ENOENT;
	LIST_HEAD(ending);

	spin_lock(&g->lock);
	x = coll_exchange_by_handle(m, handle);
	if (x)
		ret = coll_exchange_cancel_locked(x, &ending, &kick);
	spin_unlock(&g->lock);
	coll_msgs_finish(&ending);
	if (kick != COLL_RANK_NONE)
		coll_msg_kick(g, kick);
	return ret;
}

/*
 * Cancel a slice of the receives that wait in a mailbox, up to the one of order @last. A group
 * that has failed ends all of them itself. Return: how many.
 */
static u32 coll_cancel_slice_locked(struct coll_group *g, struct coll_mailbox *box, u64 last,
				    struct list_head *ending)
{
	struct coll_note *n;
	u32 nr;

	lockdep_assert_held(&g->lock);
	for (nr = 0; nr < COLL_MSG_SLICE && !g->error; nr++) {
		n = list_first_entry_or_null(&box->wanted, struct coll_note, list);
		if (!n || n->order > last)
			break;
		coll_msg_give_up(n->msg, -ECANCELED, ending);
	}
	trace_coll_walk(g->id, nr);
	return nr;
}

u64 coll_msg_cancel_receives(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_mailbox *box = &g->msgs->boxes[m->local];
	u64 nr = 0, last;
	u32 n;

	/* Leave out messages that are posted from here on. */
	spin_lock(&g->lock);
	last = box->order;
	spin_unlock(&g->lock);
	do {
		LIST_HEAD(ending);

		spin_lock(&g->lock);
		n = coll_cancel_slice_locked(g, box, last, &ending);
		spin_unlock(&g->lock);
		coll_msgs_finish(&ending);
		nr += n;
		cond_resched();
	} while (n == COLL_MSG_SLICE);
	return nr;
}
