// SPDX-License-Identifier: GPL-2.0
/*
 * Taking messages back that have no partner yet.
 *
 * A receive, and a send within the node, are cancelled on the spot, under group->lock. So is a
 * send to another node whose RTS has not gone out. Else the other node may be matching it just
 * now, so it is asked (CANCEL), and says which of the two came first by the CTS that the
 * RTS has to get anyway.
 */
#include <linux/lockdep.h>

#include "group.h"
#include "member.h"
#include "msg_priv.h"

static bool coll_handle_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_exchange, by_handle)->req->cmd.handle <
	       rb_entry(b, struct coll_exchange, by_handle)->req->cmd.handle;
}

static int coll_handle_cmp(const void *handle, const struct rb_node *b)
{
	u64 there = rb_entry(b, struct coll_exchange, by_handle)->req->cmd.handle;

	return *(const u64 *)handle < there ? -1 : *(const u64 *)handle > there;
}

void coll_exchange_name(struct coll_exchange *x)
{
	lockdep_assert_held(&x->g->lock);
	RB_CLEAR_NODE(&x->by_handle);
	if (x->req->cmd.handle)
		rb_add(&x->by_handle, &x->req->member->handles, coll_handle_before);
}

void coll_exchange_unname(struct coll_exchange *x)
{
	lockdep_assert_held(&x->g->lock);
	if (!RB_EMPTY_NODE(&x->by_handle))
		rb_erase(&x->by_handle, &x->req->member->handles);
}

/* Ask the node that has the offer. Under group->lock. */
static void coll_msg_withdraw(struct coll_group *g, struct coll_msg *msg)
{
	if (msg->withdrawn)
		return;
	msg->withdrawn = true;
	list_add_tail(&msg->note.list, &g->msgs->peers[g->node_of[msg->note.dest]].frames);
}

/* @kick: result: node that is asked; unchanged: none. Under group->lock. */
static int coll_exchange_cancel(struct coll_exchange *x, struct list_head *ending, u32 *kick)
{
	struct coll_msg *msg = x->send.state == COLL_MSG_NONE ? &x->recv : &x->send;
	struct coll_group *g = x->g;

	lockdep_assert_held(&g->lock);
	if (x->send.state != COLL_MSG_NONE && x->recv.state != COLL_MSG_NONE)
		return -EINVAL;
	if (msg->state != COLL_MSG_POSTED)
		return -EALREADY;
	if (msg->is_asked) {
		coll_msg_withdraw(g, msg);
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
	struct rb_node *node;
	int ret = -ENOENT;
	LIST_HEAD(ending);

	spin_lock(&g->lock);
	node = rb_find_first(&handle, &m->handles, coll_handle_cmp);
	if (node)
		ret = coll_exchange_cancel(rb_entry(node, struct coll_exchange, by_handle),
					   &ending, &kick);
	spin_unlock(&g->lock);
	coll_msgs_finish(&ending);
	if (kick != COLL_RANK_NONE)
		coll_msg_kick(g, kick);
	return ret;
}

u64 coll_msg_cancel_receives(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_msg *msg;
	LIST_HEAD(ending);
	u64 nr = 0;

	spin_lock(&g->lock);
	list_for_each_entry(msg, &g->msgs->all, all) {
		if (msg->send || msg->state != COLL_MSG_POSTED || msg->x->req->member != m)
			continue;
		coll_msg_give_up(msg, -ECANCELED, &ending);
		nr++;
	}
	spin_unlock(&g->lock);
	coll_msgs_finish(&ending);
	return nr;
}
