// SPDX-License-Identifier: GPL-2.0
/* Frames about messages between nodes: offers, answers, withdrawals. */
#include <linux/nospec.h>

#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "../plan/support.h"
#include "copy.h"
#include "exchange.h"
#include "frames.h"
#include "mailbox.h"
#include "match.h"
#include "peer.h"
#include "probe.h"
#include "state.h"

/* Kind of the frame that a note becomes. */
static enum coll_msg_kind coll_note_kind(const struct coll_note *n)
{
	if (!n->msg)
		return COLL_MSG_ANSWER;
	return n->msg->withdrawn ? COLL_MSG_WITHDRAW : COLL_MSG_OFFER;
}

bool coll_msg_next_frame(struct coll_group *g, u32 peer, struct coll_msg_frame *f)
{
	struct coll_msg_peer *p = &g->msgs->peers[peer];
	enum coll_msg_kind kind;
	struct coll_note *n;

	spin_lock(&g->lock);
	n = list_first_entry_or_null(&p->frames, struct coll_note, list);
	if (!n || g->error) {
		spin_unlock(&g->lock);
		return false;
	}
	list_del_init(&n->list);
	kind = coll_note_kind(n);
	/* The peer expects ids without a gap: a message that is cancelled before RTS gets none. */
	if (kind == COLL_MSG_OFFER)
		n->msg->id = ++p->last_id;
	*f = (struct coll_msg_frame){
		.kind = kind,
		.id = n->msg ? n->msg->id : n->id,
		.source = n->source,
		.dest = n->dest,
		.tag = n->tag,
		.dtype = n->dtype,
		.bytes = n->bytes,
		.error = -n->error,
	};
	if (kind == COLL_MSG_OFFER)
		coll_msg_add_asked(g, n->msg);
	if (n->msg)
		n = NULL;
	spin_unlock(&g->lock);
	coll_note_free(g, n);
	return true;
}

bool coll_msg_has_frames(struct coll_group *g, u32 peer)
{
	bool has;

	spin_lock(&g->lock);
	has = !list_empty(&g->msgs->peers[peer].frames) && !g->error;
	spin_unlock(&g->lock);
	return has;
}

/*
 * May rank @source of node @peer still offer messages? The ABORT of its node may have come on
 * another link before RTS that had been sent earlier.
 */
static bool coll_offer_in_time_locked(const struct coll_group *g, u32 peer, u32 source)
{
	lockdep_assert_held(&g->lock);
	return !test_bit(source, g->msgs->left) || test_bit(peer, g->msgs->down);
}

/* May node @peer offer this message to a rank of this node? */
static bool coll_offer_ok(const struct coll_group *g, u32 peer,
			  const struct coll_msg_frame *f)
{
	u32 elem = coll_elem_size(f->dtype);

	return f->source < g->size &&
	       g->node_of[array_index_nospec(f->source, g->size)] == peer &&
	       f->dest < g->size &&
	       g->node_of[array_index_nospec(f->dest, g->size)] == g->node &&
	       f->tag <= COLL_TAG_MAX && elem && f->bytes <= COLL_MAX_BUFFER &&
	       !(f->bytes % elem);
}

static int coll_msg_got_offer(struct coll_group *g, u32 peer,
			      const struct coll_msg_frame *f)
{
	struct coll_msg_peer *p = &g->msgs->peers[peer];
	struct coll_msg *lead = NULL;
	struct coll_note kept = { };
	struct coll_note *n;
	LIST_HEAD(ending);
	int ret = -EPROTO;

	if (!coll_offer_ok(g, peer, f))
		return ret;
	n = coll_note_alloc(g);
	if (!n) {
		coll_group_no_memory(g, -ENOMEM, 0);
		return 0;
	}
	RB_CLEAR_NODE(&n->by_id);
	n->source = array_index_nospec(f->source, g->size);
	n->dest = array_index_nospec(f->dest, g->size);
	n->tag = f->tag;
	n->dtype = f->dtype;
	n->bytes = f->bytes;
	n->node = peer;
	n->id = f->id;
	spin_lock(&g->lock);
	if (g->error)
		ret = 0;
	/* Each offer has the next id: none comes twice. */
	else if (n->id == p->peer_id + 1 && coll_offer_in_time_locked(g, peer, n->source)) {
		ret = 0;
		p->peer_id = n->id;
		/*
		 * A rank that has left takes nothing; the peer learns that from our BYE. No rank
		 * takes a message of a node that has failed.
		 */
		if (!test_bit(n->dest, g->msgs->left) && !test_bit(peer, g->msgs->down)) {
			lead = coll_msg_offer(g, n, &ending, &kept);
			n = NULL;
		}
	}
	spin_unlock(&g->lock);
	coll_note_free(g, n);
	coll_msgs_finish(&ending);
	coll_probes_tell(g, &kept);
	if (lead)
		coll_msg_begin(lead);
	return ret;
}

static int coll_msg_got_answer(struct coll_group *g, u32 peer,
			       const struct coll_msg_frame *f)
{
	struct coll_msg_peer *p = &g->msgs->peers[peer];
	struct coll_msg *msg;
	bool found, over;

	if (f->error && f->error != EMSGSIZE && f->error != EBADE && f->error != ECANCELED)
		return -EPROTO;
	spin_lock(&g->lock);
	msg = coll_msg_find_asked(g, peer, f->id);
	/* This node has not asked for a withdrawal: the answer is wrong. */
	if (msg && f->error == ECANCELED && !msg->withdrawn)
		msg = NULL;
	found = msg;
	if (found) {
		coll_msg_forget(g, msg);
		/* This answers a CANCEL that is still to be sent, too. */
		coll_note_take(&msg->note);
		msg->state = COLL_MSG_MATCHED;
		over = f->error || !msg->bytes;
		if (!over)
			list_add_tail(&msg->in_peer, &p->sends);
		if (!coll_msg_tryget(msg))
			msg = NULL;
	}
	spin_unlock(&g->lock);
	if (!found)
		return READ_ONCE(g->error) ? 0 : -EPROTO;
	if (msg && over)
		coll_msg_finish(msg, -(int)f->error);
	if (msg)
		coll_msg_put(msg);
	return 0;
}

/*
 * The sender wants message @f->id back. If a receive has taken it, the CTS for the offer is due
 * or has been sent, and answers CANCEL, too. If a matched probe has taken it, the CTS is sent
 * when the message is received.
 */
static int coll_msg_got_withdrawal(struct coll_group *g, u32 peer,
				   const struct coll_msg_frame *f)
{
	struct coll_msg_peer *p = &g->msgs->peers[peer];
	struct coll_note *n = NULL;
	int ret = 0;

	spin_lock(&g->lock);
	if (f->id > p->peer_id)
		ret = g->error ? 0 : -EPROTO;
	else
		n = coll_msg_find_offer(g, peer, f->id);
	/* If the receiver has left, BYE is the answer. It may have been sent: no CTS may follow. */
	if (n && test_bit(n->dest, g->msgs->left))
		n = NULL;
	if (n) {
		coll_msg_take_offer(g, n);
		n->error = -ECANCELED;
		list_add_tail(&n->list, &p->frames);
	}
	spin_unlock(&g->lock);
	if (n)
		coll_msg_kick(g, peer);
	return ret;
}

int coll_msg_got_frame(struct coll_group *g, u32 peer, const struct coll_msg_frame *f)
{
	switch (f->kind) {
	case COLL_MSG_OFFER:
		return coll_msg_got_offer(g, peer, f);
	case COLL_MSG_ANSWER:
		return coll_msg_got_answer(g, peer, f);
	case COLL_MSG_WITHDRAW:
		return coll_msg_got_withdrawal(g, peer, f);
	}
	return -EPROTO;
}
