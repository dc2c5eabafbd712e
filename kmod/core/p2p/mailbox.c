// SPDX-License-Identifier: GPL-2.0
/*
 * A receive gets the oldest message that fits, and a message gets the oldest receive that fits.
 * There may be very many of both, and they may come in any order. So each of them is found
 * in a tree, in a time that grows with the logarithm of their number.
 *
 * A note has a node for each kind of question that may find it:
 *	an offer	a receive names its source and its tag, or only one of the two; a
 *			receive that names neither takes the first of box->offered
 *	a receive	an offer fits four kinds of receives: with its source or any, and with
 *			its tag or any; wildcards are values like others here
 *	a probe		as a receive. A matched probe is in the tree of the receives, because it
 *			takes the offer. Plain probes have a tree of their own: an offer that
 *			no receive takes ends all plain probes that it fits
 *	a held offer	an mrecv names the order that the offer had
 * A tree is sorted by what the question names, then by age.
 */
#include <linux/lockdep.h>

#include "../group/group.h"
#include "../group/member.h"
#include "mailbox.h"
#include "state.h"

void coll_mailbox_init(struct coll_mailbox *box, struct coll_group *g)
{
	u32 i;

	box->group = g;
	INIT_LIST_HEAD(&box->wanted);
	INIT_LIST_HEAD(&box->offered);
	INIT_LIST_HEAD(&box->held);
	for (i = 0; i < COLL_MATCH_TREES; i++)
		box->trees[i] = RB_ROOT;
}

/* Index, in ->nodes of a note, of its node for a tree. coll_match_note() is the inverse. */
static u32 coll_match_index(enum coll_match_tree tree)
{
	return tree < COLL_MATCH_NODES ? tree : 0;
}

static struct coll_note *coll_match_note(struct rb_node *node, enum coll_match_tree tree)
{
	return container_of(node - coll_match_index(tree), struct coll_note, nodes[0]);
}

/* The first key of a tree. */
static u64 coll_match_key(enum coll_match_tree tree, u32 source, u32 tag)
{
	switch (tree) {
	case COLL_MATCH_SOURCE:
		return source;
	case COLL_MATCH_TAG:
		return tag;
	default:
		return (u64)source << 32 | tag;
	}
}

static u64 coll_note_key(enum coll_match_tree tree, const struct coll_note *n)
{
	if (tree == COLL_MATCH_HELD)
		return n->order;
	return coll_match_key(tree, n->source, n->tag);
}

/*
 * Under group->lock. The note is the newest one, so it goes behind all notes with the same key.
 * Keys of held notes are unique.
 */
static void coll_match_add_locked(struct coll_mailbox *box, enum coll_match_tree tree,
				  struct coll_note *n)
{
	struct rb_node **at = &box->trees[tree].rb_node, *parent = NULL;
	struct rb_node *node = &n->nodes[coll_match_index(tree)];
	u64 key = coll_note_key(tree, n);

	lockdep_assert_held(&box->group->lock);
	while (*at) {
		parent = *at;
		box->steps++;
		if (key < coll_note_key(tree, coll_match_note(parent, tree)))
			at = &parent->rb_left;
		else
			at = &parent->rb_right;
	}
	rb_link_node(node, parent, at);
	rb_insert_color(node, &box->trees[tree]);
}

/* The oldest note of a tree with this key, or NULL. Under group->lock. */
static struct coll_note *coll_match_find_locked(struct coll_mailbox *box, enum coll_match_tree tree,
						u64 key)
{
	u64 there;
	struct rb_node *node = box->trees[tree].rb_node;
	struct coll_note *n, *first = NULL;

	lockdep_assert_held(&box->group->lock);
	while (node) {
		n = coll_match_note(node, tree);
		there = coll_note_key(tree, n);
		box->steps++;
		if (key == there)
			first = n;
		node = key <= there ? node->rb_left : node->rb_right;
	}
	return first;
}

static struct coll_note *coll_match_first(struct coll_mailbox *box, enum coll_match_tree tree,
					  u32 source, u32 tag)
{
	return coll_match_find_locked(box, tree, coll_match_key(tree, source, tag));
}

static void coll_note_put_locked(struct coll_mailbox *box, struct coll_note *n,
				 enum coll_note_place place, struct list_head *list)
{
	lockdep_assert_held(&box->group->lock);
	n->box = box;
	n->place = place;
	if (!n->order)
		n->order = ++box->order;
	list_add_tail(&n->list, list);
}

void coll_match_put_wanted(struct coll_mailbox *box, struct coll_note *n)
{
	lockdep_assert_held(&box->group->lock);
	coll_note_put_locked(box, n, COLL_NOTE_WANTED, &box->wanted);
	coll_match_add_locked(box, COLL_MATCH_WANTED, n);
}

void coll_match_put_offer(struct coll_mailbox *box, struct coll_note *n)
{
	lockdep_assert_held(&box->group->lock);
	coll_note_put_locked(box, n, COLL_NOTE_OFFERED, &box->offered);
	coll_match_add_locked(box, COLL_MATCH_BOTH, n);
	coll_match_add_locked(box, COLL_MATCH_SOURCE, n);
	coll_match_add_locked(box, COLL_MATCH_TAG, n);
}

void coll_match_put_probe(struct coll_mailbox *box, struct coll_note *n)
{
	lockdep_assert_held(&box->group->lock);
	coll_note_put_locked(box, n, COLL_NOTE_PROBES, &box->wanted);
	coll_match_add_locked(box, COLL_MATCH_PROBES, n);
}

void coll_match_put_held(struct coll_mailbox *box, struct coll_note *n)
{
	lockdep_assert_held(&box->group->lock);
	coll_note_put_locked(box, n, COLL_NOTE_HELD, &box->held);
	coll_match_add_locked(box, COLL_MATCH_HELD, n);
}

/* The tree of a note that is in one only. */
static enum coll_match_tree coll_note_tree(const struct coll_note *n)
{
	switch (n->place) {
	case COLL_NOTE_HELD:
		return COLL_MATCH_HELD;
	case COLL_NOTE_PROBES:
		return COLL_MATCH_PROBES;
	default:
		return COLL_MATCH_WANTED;
	}
}

void coll_note_take(struct coll_note *n)
{
	struct coll_mailbox *box = n->box;
	u32 i;

	list_del_init(&n->list);
	if (!box)
		return;
	lockdep_assert_held(&box->group->lock);
	n->box = NULL;
	if (n->place != COLL_NOTE_OFFERED) {
		rb_erase(&n->nodes[0], &box->trees[coll_note_tree(n)]);
		return;
	}
	for (i = 0; i < COLL_MATCH_NODES; i++)
		rb_erase(&n->nodes[i], &box->trees[i]);
}

/* The oldest receive or probe in a tree that an offer fits. */
static struct coll_note *coll_match_fitting_locked(struct coll_mailbox *box,
						   enum coll_match_tree tree,
						   const struct coll_note *offer)
{
	const u32 sources[] = { offer->source, COLL_RANK_ANY };
	const u32 tags[] = { offer->tag, COLL_TAG_ANY };
	struct coll_note *n, *first = NULL;
	u32 i;

	lockdep_assert_held(&box->group->lock);
	for (i = 0; i < 4; i++) {
		n = coll_match_first(box, tree, sources[i & 1], tags[i >> 1]);
		if (n && (!first || n->order < first->order))
			first = n;
	}
	return first;
}

struct coll_note *coll_match_receive(struct coll_mailbox *box, const struct coll_note *offer)
{
	lockdep_assert_held(&box->group->lock);
	return coll_match_fitting_locked(box, COLL_MATCH_WANTED, offer);
}

struct coll_note *coll_match_probe(struct coll_mailbox *box, const struct coll_note *offer)
{
	lockdep_assert_held(&box->group->lock);
	return coll_match_fitting_locked(box, COLL_MATCH_PROBES, offer);
}

struct coll_note *coll_match_held(struct coll_mailbox *box, u64 id)
{
	lockdep_assert_held(&box->group->lock);
	return coll_match_find_locked(box, COLL_MATCH_HELD, id);
}

struct coll_note *coll_match_offered(struct coll_mailbox *box, u32 source, u32 tag)
{
	lockdep_assert_held(&box->group->lock);
	if (source == COLL_RANK_ANY && tag == COLL_TAG_ANY)
		return list_first_entry_or_null(&box->offered, struct coll_note, list);
	if (source == COLL_RANK_ANY)
		return coll_match_first(box, COLL_MATCH_TAG, source, tag);
	if (tag == COLL_TAG_ANY)
		return coll_match_first(box, COLL_MATCH_SOURCE, source, tag);
	return coll_match_first(box, COLL_MATCH_BOTH, source, tag);
}

u64 coll_msgs_steps(const struct coll_member *m)
{
	const struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	return g->msgs->boxes[m->local].steps;
}
