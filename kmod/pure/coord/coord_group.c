// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Entries by group. An entry is taken out when it fails, or starts with its group. So the end of a
 * group takes a time that is linear in its members, however many of them report it.
 *
 * Several groups may share a list, and a rank can find out which do, by the time that its calls
 * take. So members of a group are next to each other, and a search skips a whole group in one step.
 */
#include "../wire.h"
#include "coord_group.h"
#include "coord_priv.h"

static struct coll_chain *coll_coord_group_list(struct coll_coord *c, u64 group)
{
	/* The seed is random: no rank can compute digests that fall into one list. */
	return &c->groups[coll_digest(c->seed, group) & (c->nr_groups - 1)];
}

static struct coll_coord_entry *coll_coord_of_group(struct coll_chain *link)
{
	return coll_chain_entry(link, struct coll_coord_entry, by_group);
}

/* Is it the last one of its group? */
static bool coll_coord_group_closes(const struct coll_coord_entry *e)
{
	return e->edge && (!e->opens || e->edge == e);
}

/* The first entry of a group; NULL: it has none. */
static struct coll_coord_entry *coll_coord_group_first(struct coll_coord *c, u64 group)
{
	struct coll_chain *list = coll_coord_group_list(c, group), *l = list->next;
	struct coll_coord_entry *e;

	while (l != list) {
		e = coll_coord_of_group(l);
		if (coll_coord_group(e) == group)
			return e;
		coll_visit();
		l = e->edge->by_group.next;
	}
	return NULL;
}

/* @first and @last, which may be the same entry, are the ends of a group. */
static void coll_coord_group_bound(struct coll_coord_entry *first, struct coll_coord_entry *last)
{
	last->opens = false;
	last->edge = first;
	first->opens = true;
	first->edge = last;
}

/* Put an entry behind the last one of its group, or before the first one. */
static void coll_coord_group_link(struct coll_coord *c, struct coll_coord_entry *e, bool front)
{
	u64 group = coll_coord_group(e);
	struct coll_coord_entry *first = coll_coord_group_first(c, group), *last;

	if (!first) {
		coll_chain_add(&e->by_group, coll_coord_group_list(c, group));
		coll_coord_group_bound(e, e);
		return;
	}
	last = first->edge;
	coll_chain_add(&e->by_group, front ? &first->by_group : last->by_group.next);
	if (front) {
		first->opens = false;
		first->edge = NULL;
		coll_coord_group_bound(e, last);
	} else {
		last->edge = NULL;
		coll_coord_group_bound(first, e);
	}
}

/* Take an entry out of its list, and keep the place of coll_coord_group_walk_next(). */
static void coll_coord_group_unlink(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_entry *other = e->edge, *next;

	if (c->go_at == &e->by_group)
		c->go_at = coll_coord_group_closes(e) ? c->groups : e->by_group.next;
	if (other && other != e) {
		next = coll_coord_of_group(e->opens ? e->by_group.next : e->by_group.prev);
		if (e->opens)
			coll_coord_group_bound(next, other);
		else
			coll_coord_group_bound(other, next);
	}
	e->edge = NULL;
	e->opens = false;
	coll_chain_del(&e->by_group);
}

void coll_coord_group_add(struct coll_coord *c, struct coll_coord_entry *e)
{
	if (coll_coord_group(e) && !e->failing.cause && coll_chain_empty(&e->by_group))
		coll_coord_group_link(c, e, false);
}

void coll_coord_group_del(struct coll_coord *c, struct coll_coord_entry *e)
{
	e->leads = false;
	coll_coord_group_unlink(c, e);
}

void coll_coord_group_lead(struct coll_coord *c, struct coll_coord_entry *e)
{
	coll_coord_group_unlink(c, e);
	e->leads = true;
	/* coll_coord_group_leader() looks there. */
	coll_coord_group_link(c, e, true);
}

void coll_coord_group_unlead(struct coll_coord *c, struct coll_coord_entry *e)
{
	e->leads = false;
}

struct coll_coord_entry *coll_coord_group_leader(struct coll_coord *c, u64 group)
{
	struct coll_coord_entry *e = coll_coord_group_first(c, group);

	return e && e->leads ? e : NULL;
}

void coll_coord_group_walk(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_coord_entry *first = coll_coord_group_first(c, coll_coord_group(e));

	/* c->groups is the end: it is a list, not an entry. */
	c->go_at = first ? &first->by_group : c->groups;
}

struct coll_coord_entry *coll_coord_group_walk_next(struct coll_coord *c)
{
	struct coll_coord_entry *e;

	if (c->go_at == c->groups) {
		c->go_at = NULL;
		return NULL;
	}
	e = coll_coord_of_group(c->go_at);
	c->go_at = coll_coord_group_closes(e) ? c->groups : e->by_group.next;
	return e;
}

struct coll_coord_entry *coll_coord_group_next(struct coll_coord *c, u64 group,
					       struct coll_coord_entry *e)
{
	if (!e)
		return coll_coord_group_first(c, group);
	return coll_coord_group_closes(e) ? NULL : coll_coord_of_group(e->by_group.next);
}
