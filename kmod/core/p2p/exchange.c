// SPDX-License-Identifier: GPL-2.0
/* The life of a message, from its command to its completion; state.h says which end is the lead. */
#include <linux/bitmap.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "../deadline.h"
#include "../group/failure.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "../plan/support.h"
#include "../trace.h"
#include "exchange.h"
#include "handles.h"
#include "mailbox.h"
#include "peer.h"
#include "state.h"

static void coll_exchange_free(struct kref *ref)
{
	struct coll_exchange *x = container_of(ref, struct coll_exchange, ref);

	coll_group_put(x->g);
	kfree(x);
}

void coll_exchange_put(struct coll_exchange *x)
{
	kref_put(&x->ref, coll_exchange_free);
}

/* Is this end neither over nor about to be? Under group->lock. */
static bool coll_msg_is_open_locked(const struct coll_msg *msg)
{
	lockdep_assert_held(&msg->x->g->lock);
	return msg->state != COLL_MSG_NONE && msg->state != COLL_MSG_OVER &&
	       !coll_msg_ending(msg->lead);
}

/*
 * The end of @x that is late: preferably the one that has no partner yet. An end whose result is
 * fixed is over in a moment, and is in time. NULL: none. Under group->lock.
 */
static struct coll_msg *coll_exchange_late_locked(struct coll_exchange *x)
{
	struct coll_msg *recv = &x->recv, *send = &x->send, *late;

	lockdep_assert_held(&x->g->lock);
	late = recv->state == COLL_MSG_POSTED ||
	       (recv->state == COLL_MSG_MATCHED && !coll_msg_waits(send)) ? recv : send;
	if (!coll_msg_is_open_locked(late))
		late = late == recv ? send : recv;
	return coll_msg_is_open_locked(late) ? late : NULL;
}

/*
 * Fail the group, because an end of @x is late. Its result is fixed under the same lock: otherwise
 * it could succeed before the group fails. Under group->lock. Return: the lead to put after
 * coll_group_failed(); NULL: nothing is late, or the group has failed already.
 */
static struct coll_msg *coll_exchange_fail_locked(struct coll_exchange *x)
{
	struct coll_msg *late = coll_exchange_late_locked(x);
	struct coll_group *g = x->g;
	struct coll_cause cause;

	lockdep_assert_held(&g->lock);
	if (!late || g->error || !coll_msg_end(late->lead, -ETIMEDOUT))
		return NULL;
	coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT, coll_msg_partner(late), 0);
	/* It is the first failure, and the exchange has a reference to the group. */
	coll_group_fail_locked(g, &cause);
	return late->lead;
}

static void coll_exchange_deadline(struct work_struct *work)
{
	struct coll_exchange *x = container_of(to_delayed_work(work),
					       struct coll_exchange, deadline);
	struct coll_group *g = x->g;
	struct coll_msg *lead = NULL;
	unsigned long delay = 0;

	spin_lock(&g->lock);
	if (x->left)
		delay = coll_deadline_delay(x->expires);
	if (delay) {
		kref_get(&x->ref);
		queue_delayed_work(coll_alarm_wq, &x->deadline, delay);
	} else if (x->left) {
		lead = coll_exchange_fail_locked(x);
	}
	spin_unlock(&g->lock);
	if (lead) {
		coll_group_failed_soon(g);
		coll_msg_put(lead);
	}
	coll_exchange_put(x);
}

static void coll_msg_init(struct coll_exchange *x, struct coll_msg *msg)
{
	msg->x = x;
	msg->lead = msg;
	msg->note.msg = msg;
	atomic_set(&msg->refs, 1);
	INIT_LIST_HEAD(&msg->note.list);
	INIT_LIST_HEAD(&msg->in_peer);
}

struct coll_exchange *coll_exchange_alloc(struct coll_req *req)
{
	struct coll_exchange *x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	const struct coll_cmd *c = &req->cmd;
	u32 rank = req->member->rank;

	if (!x)
		return NULL;
	kref_init(&x->ref);
	x->g = coll_member_group(req->member);
	coll_group_get(x->g);
	x->req = req;
	INIT_DELAYED_WORK(&x->deadline, coll_exchange_deadline);
	coll_msg_init(x, &x->recv);
	coll_msg_init(x, &x->send);
	x->send.send = true;
	if (coll_msg_sends(c->collective) && c->root != COLL_RANK_NULL) {
		x->send.state = COLL_MSG_POSTED;
		x->send.vec = req->in;
		x->send.note.source = rank;
		x->send.note.dest = c->root;
		x->send.note.tag = c->send_tag;
		x->send.note.dtype = c->dtype;
		x->send.note.bytes = c->count * coll_elem_size(c->dtype);
		x->send.bytes = x->send.note.bytes;
		x->left++;
	}
	if (c->collective != COLL_SEND && c->source != COLL_RANK_NULL) {
		x->recv.state = COLL_MSG_POSTED;
		x->recv.vec = req->out;
		x->recv.note.source = c->source;
		x->recv.note.dest = rank;
		x->recv.note.tag = c->recv_tag;
		x->recv.note.dtype = c->recv_dtype;
		x->recv.note.bytes = c->recv_count * coll_elem_size(c->recv_dtype);
		x->left++;
	}
	return x;
}

void coll_msg_tell(struct coll_req *req, const struct coll_note *n)
{
	lockdep_assert_held(&coll_member_group(req->member)->lock);
	req->got.bytes = n->bytes;
	req->got.source = n->source;
	req->got.tag = n->tag;
	req->got.dtype = n->dtype;
	req->has_got = true;
}

void coll_exchange_arm(struct coll_exchange *x, u64 timeout_ns)
{
	if (!timeout_ns)
		return;
	x->expires = coll_deadline(timeout_ns);
	kref_get(&x->ref);
	queue_delayed_work(coll_alarm_wq, &x->deadline, coll_deadline_delay(x->expires));
}

bool coll_msg_end(struct coll_msg *lead, int result)
{
	if (test_and_set_bit(COLL_MSGF_ENDING, &lead->flags))
		return false;
	lead->result = result;
	return true;
}

void coll_msg_finish(struct coll_msg *lead, int result)
{
	if (coll_msg_end(lead, result))
		coll_msg_put(lead);
}

bool coll_msg_ending(const struct coll_msg *msg)
{
	return test_bit(COLL_MSGF_ENDING, &msg->flags);
}

void coll_msg_give_up(struct coll_msg *msg, int result, struct list_head *ending)
{
	lockdep_assert_held(&msg->x->g->lock);
	if (!coll_msg_end(msg, result))
		return;
	coll_note_take(&msg->note);
	coll_msg_forget(msg->x->g, msg);
	list_add_tail(&msg->todo, ending);
}

void coll_msgs_finish(struct list_head *ending)
{
	struct coll_msg *msg, *next;

	list_for_each_entry_safe(msg, next, ending, todo)
		coll_msg_put(msg);
}

/* One end is over. Under group->lock. Return: its exchange, if that is complete; else NULL. */
static struct coll_exchange *coll_msg_over_locked(struct coll_group *g, struct coll_msg *msg,
						  int result)
{
	struct coll_exchange *x = msg->x;

	lockdep_assert_held(&g->lock);
	msg->state = COLL_MSG_OVER;
	list_del(&msg->all);
	coll_note_take(&msg->note);
	coll_msg_forget(g, msg);
	if (result && (!x->result || !msg->send))
		x->result = result;
	if (msg->send && !result) {
		g->msgs->counts.sent++;
		g->msgs->counts.bytes += msg->note.bytes;
	}
	if (--x->left)
		return NULL;
	/* Clear it only now: sleepers find the exchange through their request. */
	x->req->exchange = NULL;
	coll_exchange_unname(x);
	x->req->member->talking--;
	return x;
}

static void coll_exchange_done(struct coll_exchange *x)
{
	if (!x)
		return;
	if (cancel_delayed_work(&x->deadline))
		coll_exchange_put(x);
	coll_req_done(x->req, x->result);
	coll_exchange_put(x);
}

void coll_msg_put(struct coll_msg *lead)
{
	struct coll_group *g = lead->x->g;
	struct coll_exchange *done[2] = { };

	if (!atomic_dec_and_test(&lead->refs))
		return;
	if (!coll_msg_probes(lead))
		trace_coll_message(g->id, lead->note.source, lead->note.dest, lead->note.tag,
				   lead->bytes, lead->result);
	spin_lock(&g->lock);
	if (lead->from)
		done[0] = coll_msg_over_locked(g, lead->from, lead->result);
	done[1] = coll_msg_over_locked(g, lead, lead->result);
	spin_unlock(&g->lock);
	coll_exchange_done(done[0]);
	coll_exchange_done(done[1]);
}

/* Is the caller a thread of the process of a rank that has an end of @msg? */
static bool coll_msg_is_mine(const struct coll_msg *msg)
{
	return coll_member_is_mine(msg->x->req->member) ||
	       (msg->from && coll_member_is_mine(msg->from->x->req->member));
}

void coll_msg_failed(struct coll_msg *msg, int err)
{
	if (err == -ESRCH) {
		/* As coll_exec_failed(): nothing reports the death of a helper that is no rank. */
		if (!fatal_signal_pending(current) || coll_msg_is_mine(msg))
			return;
		err = -EFAULT;
	}
	coll_group_no_memory(msg->x->g, err, 0);
}
