// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Entries by group. One that fails is taken out, so the end of a group takes a time that is
 * linear in its members, however many of them report it. So is one that starts with its group.
 */
#include "../wire.h"
#include "coord_group.h"
#include "coord_priv.h"

static struct coll_chain *coll_coord_group_list(struct coll_coord *c, u64 group)
{
	/* The seed is random: no rank can choose digests that fall into one list. */
	return &c->groups[coll_digest(c->seed, group) & (c->nr_groups - 1)];
}

static struct coll_coord_entry *coll_coord_of_group(struct coll_chain *link)
{
	return coll_chain_entry(link, struct coll_coord_entry, by_group);
}

void coll_coord_group_add(struct coll_coord *c, struct coll_coord_entry *e)
{
	u64 group = coll_coord_group(e);

	if (group && !e->failing.cause && coll_chain_empty(&e->by_group))
		coll_chain_add(&e->by_group, coll_coord_group_list(c, group));
}

/* Take an entry out of its list, and keep the place of coll_coord_group_walk_next(). */
static void coll_coord_group_unlink(struct coll_coord *c, struct coll_coord_entry *e)
{
	if (c->go_at == &e->by_group)
		c->go_at = e->by_group.next;
	coll_chain_del(&e->by_group);
}

void coll_coord_group_del(struct coll_coord *c, struct coll_coord_entry *e)
{
	e->leads = false;
	coll_coord_group_unlink(c, e);
}

void coll_coord_group_lead(struct coll_coord *c, struct coll_coord_entry *e)
{
	struct coll_chain *list = coll_coord_group_list(c, coll_coord_group(e));

	e->leads = true;
	/*
	 * Leaders are at the front of the list: coll_coord_group_leader() stops at the first entry
	 * that is not a leader.
	 */
	coll_coord_group_unlink(c, e);
	coll_chain_add(&e->by_group, list->next);
}

void coll_coord_group_unlead(struct coll_coord *c, struct coll_coord_entry *e)
{
	coll_coord_group_del(c, e);
	coll_coord_group_add(c, e);	/* at the end */
}

struct coll_coord_entry *coll_coord_group_leader(struct coll_coord *c, u64 group)
{
	struct coll_chain *list = coll_coord_group_list(c, group), *l;
	struct coll_coord_entry *e;

	for (l = list->next; l != list; l = l->next) {
		e = coll_coord_of_group(l);
		if (!e->leads)
			break;
		if (coll_coord_group(e) == group)
			return e;
	}
	return NULL;
}

void coll_coord_group_walk(struct coll_coord *c, struct coll_coord_entry *e)
{
	c->go_at = coll_coord_group_list(c, coll_coord_group(e))->next;
}

struct coll_coord_entry *coll_coord_group_walk_next(struct coll_coord *c,
						    struct coll_coord_entry *e)
{
	struct coll_chain *l = c->go_at;

	if (l == coll_coord_group_list(c, coll_coord_group(e))) {
		c->go_at = NULL;
		return NULL;
	}
	c->go_at = l->next;
	return coll_coord_of_group(l);
}

struct coll_coord_entry *coll_coord_group_next(struct coll_coord *c, u64 group,
					       struct coll_coord_entry *e)
{
	struct coll_chain *list = coll_coord_group_list(c, group), *l;

	for (l = e ? e->by_group.next : list->next; l != list; l = l->next) {
		e = coll_coord_of_group(l);
		if (coll_coord_group(e) == group)
			return e;
	}
	return NULL;
}
