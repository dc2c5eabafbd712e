// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>

#include "../../pure/coord/coord_order.h"
#include "../group/failure.h"
#include "../group/group.h"
#include "../group/transport.h"
#include "tensor_left.h"

void coll_tensors_leaving_locked(struct coll_group *g, struct coll_left *l)
{
	lockdep_assert_held(&g->lock);
	if (g->tensors)
		l->orders = g->tensors->coord.serial;
}

/* Can no order come any more? The root makes them itself. Under group->lock. */
static bool coll_tensors_has_all_orders_locked(const struct coll_tensors *ts)
{
	lockdep_assert_held(&ts->group->lock);
	return ts->coord.is_root || ts->parent_left >= coll_group_ranks_of(ts->group, ts->parent);
}

/*
 * Has this node applied all orders that the node of the rank had applied? If no order can come any
 * more, it has, whatever the other node says. Under group->lock.
 */
static bool coll_tensors_followed_locked(const struct coll_tensors *ts, const struct coll_left *l)
{
	lockdep_assert_held(&ts->group->lock);
	if (l->rank == COLL_RANK_NONE)
		return false;
	return coll_tensors_has_all_orders_locked(ts) ||
	       (l->seq <= ts->started && coll_coord_has_applied(&ts->coord, l->orders));
}

/* A rank that has left and that a tensor waits for; COLL_RANK_NONE: none. Under group->lock. */
static u32 coll_tensors_missing_locked(const struct coll_tensors *ts)
{
	const struct coll_group *g = ts->group;
	u32 i;

	lockdep_assert_held(&g->lock);
	if (g->error || list_empty(&ts->waiting))
		return COLL_RANK_NONE;
	if (coll_tensors_followed_locked(ts, &g->remote_left))
		return g->remote_left.rank;
	for (i = 0; i < g->nr_left; i++)
		if (coll_tensors_followed_locked(ts, &g->local_left[i]))
			return g->local_left[i].rank;
	return COLL_RANK_NONE;
}

bool coll_tensors_miss_locked(const struct coll_tensors *ts)
{
	lockdep_assert_held(&ts->group->lock);
	return coll_tensors_missing_locked(ts) != COLL_RANK_NONE;
}

void coll_tensors_part_left(struct coll_group *g, u32 rank)
{
	if (!g->tensors)
		return;
	spin_lock(&g->lock);
	if (coll_group_is_on(g, rank, g->tensors->parent))
		g->tensors->parent_left++;
	spin_unlock(&g->lock);
	coll_tensors_left(g);
}

void coll_tensors_left(struct coll_group *g)
{
	struct coll_cause cause;
	u32 rank;
	u64 seq;

	if (!g->tensors)
		return;
	spin_lock(&g->lock);
	seq = g->tensors->started + 1;
	rank = coll_tensors_missing_locked(g->tensors);
	spin_unlock(&g->lock);
	if (rank == COLL_RANK_NONE)
		return;
	coll_group_cause(g, &cause, COLL_CAUSE_CLOSE, EHOSTDOWN, rank, seq);
	coll_group_fail_later(g, &cause);
}
