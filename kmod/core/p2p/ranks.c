// SPDX-License-Identifier: GPL-2.0
/* Finds out which ranks can still be sent to, and received from. */
#include <linux/bitmap.h>
#include <linux/lockdep.h>
#include <linux/nospec.h>

#include "../group/failure.h"
#include "../group/group.h"
#include "../group/link.h"
#include "ranks.h"
#include "state.h"

/* g->local_rank is in ascending order. */
u32 coll_msg_local(const struct coll_group *g, u32 rank)
{
	u32 lo = 0, hi = g->nr_local - 1;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (g->local_rank[mid] < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int coll_msg_check_rank(const struct coll_group *g, u32 rank)
{
	lockdep_assert_held(&g->lock);
	/* A rank of a node that has failed may be the one that would have sent. */
	if (rank == COLL_RANK_ANY)
		return coll_msgs_alone(g) || g->msgs->node_failed ? -EHOSTDOWN : 0;
	if (test_bit(rank, g->msgs->left))
		return -EHOSTDOWN;
	if (g->node_of[rank] != g->node && !coll_link_usable(g, g->node_of[rank], 0))
		return -ENOTCONN;
	return 0;
}

/* Is @rank on a node that has failed? COLL_RANK_ANY: has any node failed? */
static bool coll_rank_is_down_locked(const struct coll_group *g, u32 rank)
{
	lockdep_assert_held(&g->lock);
	if (rank == COLL_RANK_ANY)
		return g->msgs->node_failed;
	return rank < g->size &&
	       test_bit(g->node_of[array_index_nospec(rank, g->size)], g->msgs->down);
}

void coll_msg_missed(struct coll_group *g, const struct coll_cmd *c)
{
	bool down = false, first;

	spin_lock(&g->lock);
	if (coll_msg_sends(c->collective))
		down = coll_rank_is_down_locked(g, c->root);
	if (c->collective != COLL_SEND)
		down |= coll_rank_is_down_locked(g, c->source);
	first = down && g->pending_failure.kind && coll_group_fail_locked(g, &g->pending_failure);
	spin_unlock(&g->lock);
	if (first)
		coll_group_failed(g);
}

bool coll_msgs_alone(const struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	return g->msgs->nr_left && g->msgs->nr_left >= g->size - 1;
}
