// SPDX-License-Identifier: GPL-2.0
/* Offers of other nodes, and notes that are to be sent to them. Lists and trees only. */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../group/group.h"
#include "../group/link.h"
#include "../limits.h"
#include "../trace.h"
#include "mailbox.h"
#include "peer.h"
#include "state.h"

void coll_notes_free(struct coll_group *g, struct list_head *notes)
{
	struct coll_note *n, *next;

	list_for_each_entry_safe(n, next, notes, list)
		coll_note_free(g, n);
}

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

/* The first note of @list, or, if that is NULL, the first offer of @node. */
static struct coll_note *coll_msg_to_drop_locked(const struct coll_group *g, struct list_head *list,
						 u32 node)
{
	struct rb_node *first;

	lockdep_assert_held(&g->lock);
	if (list)
		return list_first_entry_or_null(list, struct coll_note, list);
	first = rb_first(&g->msgs->peers[node].offers);
	return first ? rb_entry(first, struct coll_note, by_id) : NULL;
}

/*
 * Drop a slice. Sends of this node leave the mailbox as well: the walk has ended them, or the
 * failure of the group does. Return: may there be more?
 */
static bool coll_msg_drop_slice_locked(struct coll_group *g, struct list_head *list, u32 node,
				       struct list_head *notes)
{
	struct coll_note *n;
	u32 nr;

	lockdep_assert_held(&g->lock);
	for (nr = 0; nr < COLL_MSG_SLICE; nr++) {
		n = coll_msg_to_drop_locked(g, list, node);
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

/* @list and @node as in coll_msg_to_drop_locked(). Return: may there be more? */
static bool coll_msg_drop_slice(struct coll_group *g, struct list_head *list, u32 node)
{
	LIST_HEAD(notes);
	bool more;

	spin_lock(&g->lock);
	more = coll_msg_drop_slice_locked(g, list, node, &notes);
	spin_unlock(&g->lock);
	coll_notes_free(g, &notes);
	cond_resched();
	return more;
}

static void coll_msg_drop(struct coll_group *g, struct list_head *list, u32 node)
{
	while (coll_msg_drop_slice(g, list, node))
		;
}

/* Drop notes of a list until the time @end. Return: there is no time left. */
static bool coll_msg_drop_until(struct coll_group *g, struct list_head *list, unsigned long end)
{
	while (coll_msg_drop_slice(g, list, 0))
		if (time_after(jiffies, end))
			return true;
	return false;
}

bool coll_msg_drop_some(struct coll_group *g)
{
	unsigned long end = jiffies + msecs_to_jiffies(COLL_WORK_MS);
	struct coll_msgs *ms = g->msgs;
	bool more = false;
	u32 i;

	/* Boxes first: until then CANCEL may move an offer from a box to the frames. */
	for (i = 0; i < g->nr_local && !more; i++)
		more = coll_msg_drop_until(g, &ms->boxes[i].offered, end) ||
		       coll_msg_drop_until(g, &ms->boxes[i].held, end);
	for (i = 0; i < g->nr_nodes && !more; i++)
		more = coll_msg_drop_until(g, &ms->peers[i].frames, end);
	return more;
}

void coll_msg_drop_offers_from(struct coll_group *g, u32 node)
{
	coll_msg_drop(g, NULL, node);
}

void coll_msg_drop_offers(struct coll_group *g, struct coll_mailbox *box)
{
	coll_msg_drop(g, &box->offered, 0);
	coll_msg_drop(g, &box->held, 0);
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
		list_add_tail(&lead->in_peer, &p->recvs);
}

void coll_msg_forget(struct coll_group *g, struct coll_msg *msg)
{
	struct coll_msg_peer *p;

	lockdep_assert_held(&g->lock);
	list_del_init(&msg->in_peer);
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

void coll_msg_add_asked(struct coll_group *g, struct coll_msg *msg)
{
	struct coll_msg_peer *p = &g->msgs->peers[g->node_of[msg->note.dest]];

	lockdep_assert_held(&g->lock);
	rb_add(&msg->asked, &p->asked, coll_asked_before);
	msg->is_asked = true;
}

struct coll_msg *coll_msg_find_asked(struct coll_group *g, u32 peer, u64 id)
{
	struct rb_node *node;

	lockdep_assert_held(&g->lock);
	node = rb_find(&id, &g->msgs->peers[peer].asked, coll_asked_cmp);
	return node ? rb_entry(node, struct coll_msg, asked) : NULL;
}

struct coll_note *coll_msg_find_offer(struct coll_group *g, u32 peer, u64 id)
{
	struct rb_node *node;

	lockdep_assert_held(&g->lock);
	node = rb_find(&id, &g->msgs->peers[peer].offers, coll_offer_cmp);
	return node ? rb_entry(node, struct coll_note, by_id) : NULL;
}

struct coll_note *coll_note_alloc(struct coll_group *g)
{
	struct mem_cgroup *memcg;
	struct coll_note *n;

	if (!coll_early_charge(&g->early, sizeof(*n), COLL_USER_EARLY))
		return NULL;
	memcg = set_active_memcg(g->memcg);
	n = kzalloc(sizeof(*n), COLL_GFP_MAYFAIL);
	set_active_memcg(memcg);
	if (n)
		INIT_LIST_HEAD(&n->list);
	else
		coll_early_uncharge(&g->early, sizeof(*n));
	return n;
}

void coll_note_free(struct coll_group *g, struct coll_note *n)
{
	if (!n)
		return;
	coll_early_uncharge(&g->early, sizeof(*n));
	kfree(n);
}
