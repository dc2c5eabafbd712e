// SPDX-License-Identifier: GPL-2.0
/* Messages between nodes, as links see them: questions, answers, bytes. */
#include <linux/lockdep.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../group/group.h"
#include "../group/link.h"
#include "../limits.h"
#include "../plan/support.h"
#include "../trace.h"
#include "msg_priv.h"

void coll_msg_kick(struct coll_group *g, u32 node)
{
	struct coll_link *link = coll_group_link(g, node, 0);

	if (link)
		link->ops->call(link);
}

void coll_msg_ask(struct coll_group *g, struct coll_msg *msg)
{
	struct coll_msg_peer *p = &g->msgs->peers[g->node_of[msg->note.dest]];

	lockdep_assert_held(&g->lock);
	list_add_tail(&msg->note.list, &p->frames);
}

static bool coll_offer_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_note, by_id)->id <
	       rb_entry(b, struct coll_note, by_id)->id;
}

static int coll_offer_cmp(const void *id, const struct rb_node *b)
{
	u64 there = rb_entry(b, struct coll_note, by_id)->id;

	return *(const u64 *)id < there ? -1 : *(const u64 *)id > there;
}

void coll_msg_keep_offer(struct coll_group *g, struct coll_note *n)
{
	lockdep_assert_held(&g->lock);
	rb_add(&n->by_id, &g->msgs->peers[n->node].offers, coll_offer_before);
}

void coll_msg_take_offer(struct coll_group *g, struct coll_note *n)
{
	lockdep_assert_held(&g->lock);
	if (!RB_EMPTY_NODE(&n->by_id))
		rb_erase(&n->by_id, &g->msgs->peers[n->node].offers);
	RB_CLEAR_NODE(&n->by_id);
	coll_note_take(n);
}

/*
 * A slice. Messages of this node leave the mailbox as well; the walk has ended them, or the
 * failure of the group does. Return: may there be more?
 */
static bool coll_msg_drop_slice(struct coll_group *g, struct list_head *list,
				struct list_head *notes)
{
	struct coll_note *n;
	u32 nr;

	lockdep_assert_held(&g->lock);
	for (nr = 0; nr < COLL_MSG_SLICE; nr++) {
		n = list_first_entry_or_null(list, struct coll_note, list);
		if (!n)
			break;
		if (n->msg) {
			coll_note_take(n);
			continue;
		}
		coll_msg_take_offer(g, n);
		list_add_tail(&n->list, notes);
	}
	trace_coll_walk(g->id, nr);
	return nr == COLL_MSG_SLICE;
}

static void coll_msg_drop_list(struct coll_group *g, struct list_head *list)
{
	bool more = true;

	while (more) {
		LIST_HEAD(notes);

		spin_lock(&g->lock);
		more = coll_msg_drop_slice(g, list, &notes);
		spin_unlock(&g->lock);
		coll_notes_free(g, &notes);
		cond_resched();
	}
}

void coll_msg_drop_offers(struct coll_group *g, struct coll_mailbox *box)
{
	coll_msg_drop_list(g, &box->offered);
	coll_msg_drop_list(g, &box->held);
}

void coll_msg_answer(struct coll_group *g, struct coll_msg *lead, struct coll_note *n)
{
	struct coll_msg_peer *p = &g->msgs->peers[n->node];

	lockdep_assert_held(&g->lock);
	n->error = lead->note.error;
	lead->id = n->id;
	coll_msg_take_offer(g, n);
	list_add_tail(&n->list, &p->frames);
	if (!n->error && n->bytes)
		list_add_tail(&lead->turn, &p->recvs);
}

void coll_msg_forget(struct coll_group *g, struct coll_msg *msg)
{
	struct coll_msg_peer *p;

	lockdep_assert_held(&g->lock);
	list_del_init(&msg->turn);
	if (msg->is_asked) {
		p = &g->msgs->peers[g->node_of[msg->note.dest]];
		rb_erase(&msg->asked, &p->asked);
		msg->is_asked = false;
	}
}

static bool coll_asked_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct coll_msg, asked)->id <
	       rb_entry(b, struct coll_msg, asked)->id;
}

static int coll_asked_cmp(const void *id, const struct rb_node *b)
{
	u64 there = rb_entry(b, struct coll_msg, asked)->id;

	return *(const u64 *)id < there ? -1 : *(const u64 *)id > there;
}

/* An offer of another node: charged to the communicator, for a worker has no control group. */
static struct coll_note *coll_note_alloc(struct coll_group *g)
{
	struct mem_cgroup *memcg;
	struct coll_note *n;

	if (!coll_user_charge_early(g->user, sizeof(*n)))
		return NULL;
	memcg = set_active_memcg(g->memcg);
	n = kzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);
	set_active_memcg(memcg);
	if (n)
		INIT_LIST_HEAD(&n->list);
	else
		coll_user_uncharge_early(g->user, sizeof(*n));
	return n;
}

void coll_note_free(struct coll_group *g, struct coll_note *n)
{
	if (!n)
		return;
	coll_user_uncharge_early(g->user, sizeof(*n));
	kfree(n);
}

/* What is to be said about a note that has its turn in the link. */
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
	/* The peer wants numbers without a gap: what is cancelled before it goes has none. */
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
	if (kind == COLL_MSG_OFFER) {
		rb_add(&n->msg->asked, &p->asked, coll_asked_before);
		n->msg->is_asked = true;
	}
	if (n->msg)
		n = NULL;
	spin_unlock(&g->lock);
	coll_note_free(g, n);
	return true;
}

/* Is this what that node may offer to one of this node's ranks? */
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
		coll_group_memory(g, -ENOMEM);
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
	/* No offer comes twice. */
	else if (n->id == p->peer_id + 1 && !test_bit(n->source, g->msgs->left)) {
		ret = 0;
		p->peer_id = n->id;
		/* Who has left takes nothing; our BYE, which is on its way, says so. */
		if (!test_bit(n->dest, g->msgs->left)) {
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
	struct coll_msg *msg = NULL;
	struct rb_node *node;
	bool over;

	if (f->error && f->error != EMSGSIZE && f->error != EBADE && f->error != ECANCELED)
		return -EPROTO;
	spin_lock(&g->lock);
	node = rb_find(&f->id, &p->asked, coll_asked_cmp);
	if (node) {
		msg = rb_entry(node, struct coll_msg, asked);
		/* Nobody has asked for that. */
		if (f->error == ECANCELED && !msg->withdrawn) {
			msg = NULL;
			node = NULL;
		}
	}
	if (node) {
		coll_msg_forget(g, msg);
		/* A question that has not gone out yet has its answer. */
		coll_note_take(&msg->note);
		msg->state = COLL_MSG_MATCHED;
		over = f->error || !msg->bytes;
		if (!over)
			list_add_tail(&msg->turn, &p->sends);
		if (!coll_msg_use(msg))
			msg = NULL;
	}
	spin_unlock(&g->lock);
	if (!node)
		return READ_ONCE(g->error) ? 0 : -EPROTO;
	if (msg && over)
		coll_msg_finish(msg, -(int)f->error);
	if (msg)
		coll_msg_put_use(msg);
	return 0;
}

/*
 * The sender wants message @f->id back. If a receive has taken it, the answer to the offer is
 * on its way, and is the answer to this, too. If a matched probe has, that answer comes when
 * the message is received.
 */
static int coll_msg_got_withdrawal(struct coll_group *g, u32 peer,
				   const struct coll_msg_frame *f)
{
	struct coll_msg_peer *p = &g->msgs->peers[peer];
	struct rb_node *node = NULL;
	struct coll_note *n;
	int ret = 0;

	spin_lock(&g->lock);
	if (f->id > p->peer_id)
		ret = g->error ? 0 : -EPROTO;
	else
		node = rb_find(&f->id, &p->offers, coll_offer_cmp);
	if (node) {
		n = rb_entry(node, struct coll_note, by_id);
		coll_msg_take_offer(g, n);
		n->error = -ECANCELED;
		list_add_tail(&n->list, &p->frames);
	}
	spin_unlock(&g->lock);
	if (node)
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

/* The first one whose turn it is, with a use. */
static struct coll_msg *coll_msg_first(struct coll_group *g, struct list_head *turns)
{
	struct coll_msg *msg;

	spin_lock(&g->lock);
	msg = list_first_entry_or_null(turns, struct coll_msg, turn);
	if (msg && !coll_msg_use(msg))
		msg = NULL;
	spin_unlock(&g->lock);
	return msg;
}

struct coll_msg *coll_msg_sending(struct coll_group *g, u32 peer)
{
	return coll_msg_first(g, &g->msgs->peers[peer].sends);
}

struct coll_msg *coll_msg_receiving(struct coll_group *g, u32 peer)
{
	return coll_msg_first(g, &g->msgs->peers[peer].recvs);
}

bool coll_msg_expects(const struct coll_group *g, u32 peer)
{
	return !list_empty_careful(&g->msgs->peers[peer].recvs);
}

bool coll_msg_owes(const struct coll_group *g, u32 peer)
{
	return !list_empty_careful(&g->msgs->peers[peer].sends);
}

u64 coll_msg_id(const struct coll_msg *msg)
{
	return msg->id;
}

u64 coll_msg_done(const struct coll_msg *msg)
{
	return msg->done;
}

u64 coll_msg_bytes(const struct coll_msg *msg)
{
	return msg->bytes;
}

const struct coll_vec *coll_msg_vec(const struct coll_msg *msg)
{
	return &msg->vec;
}

/* The next one's turn comes before this one is over, which may take a while. */
static void coll_msg_moved(struct coll_msg *msg, u32 len)
{
	struct coll_group *g = msg->x->g;

	msg->done += len;
	if (msg->done < msg->bytes)
		return;
	spin_lock(&g->lock);
	list_del_init(&msg->turn);
	spin_unlock(&g->lock);
	coll_msg_finish(msg, 0);
}

void coll_msg_sent(struct coll_msg *msg, u32 len)
{
	coll_msg_moved(msg, len);
}

int coll_msg_received(struct coll_msg *msg, const void *data, u32 len)
{
	int ret = coll_vec_copy(&msg->vec, msg->done, (void *)data, len, true);

	if (ret)
		coll_msg_failed(msg, ret);
	else
		coll_msg_moved(msg, len);
	return ret;
}
