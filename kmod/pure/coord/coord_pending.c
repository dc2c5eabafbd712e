// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Entries that are pending, and entries that end without being started. */
#include "coord_group.h"
#include "coord_pending.h"
#include "coord_priv.h"

/* Take the entry out of c->pending. If c->look points to it, move c->look to the next one. */
void coll_coord_not_pending(struct coll_coord *c, struct coll_coord_entry *e)
{
	if (c->look == &e->pending)
		c->look = e->pending.next;
	coll_chain_del(&e->pending);
}

/* A rank or a child has submitted it. */
void coll_coord_submitted(struct coll_coord *c, struct coll_coord_entry *e)
{
	if (c->ops->pending && coll_chain_empty(&e->pending))
		c->ops->pending(c, e, true);
	coll_coord_not_pending(c, e);
	coll_chain_add(&e->pending, &c->pending);
	coll_coord_group_add(c, e);
}

/* At the root: must @e start, because a member of its group starts or is about to? */
static bool coll_coord_will_start(const struct coll_coord *c, const struct coll_coord_entry *e)
{
	const struct coll_chain *l;

	if (e->going)
		return true;
	if (coll_dropped(COLL_RULE_GROUP_BUSY))
		return false;
	if (e->starting)
		return true;
	/* The group may not have been marked yet. */
	for (l = c->fusion.next; e->whole && l != &c->fusion; l = l->next)
		if (coll_coord_group(coll_chain_entry(l, struct coll_coord_entry, ready)) ==
		    coll_coord_group(e))
			return true;
	return false;
}

/*
 * The entry is to be ended before it is ready. The root decides: the entry may have been started
 * meanwhile, or a member of its group may, and then the others start as well.
 */
void coll_coord_fail(struct coll_coord *c, struct coll_coord_entry *e,
		     const struct coll_coord_bad *bad)
{
	if (e->failing.cause || coll_coord_will_start(c, e))
		return;
	coll_visit();
	e->failing = *bad;
	if (!e->failing.group[0])
		e->failing.group[0] = coll_coord_group(e);
	coll_coord_group_del(c, e);
	/*
	 * This must go before JOIN. A parent that gets JOIN first counts our ranks as joined,
	 * and starts the tensor without them.
	 */
	if (c->is_root) {
		coll_chain_del(&e->ready);
		c->sorted = 0;
		coll_chain_add(&e->ready, c->failed.next);
	} else if (coll_chain_empty(&e->up) && !coll_dropped(COLL_RULE_DEADLINE)) {
		coll_chain_add(&e->up, &c->up);
	}
}
