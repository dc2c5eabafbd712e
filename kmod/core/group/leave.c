// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>

#include <linux/coll.h>

#include "../../pure/wire.h"
#include "failure.h"
#include "group.h"
#include "leave.h"
#include "link.h"
#include "member.h"
#include "op_state.h"
#include "parts.h"

/*
 * Number of the first posted op after @seq, the last op of a rank; 0: there is none. Ops in the
 * list have consecutive numbers, so there is no need to walk the list, which may be very long.
 * Under group->lock.
 */
static u64 coll_first_op_beyond_locked(const struct coll_group *g, u64 seq)
{
	lockdep_assert_held(&g->lock);
	if (list_empty(&g->ops) || list_last_entry(&g->ops, struct coll_op, list)->seq <= seq)
		return 0;
	return max(list_first_entry(&g->ops, struct coll_op, list)->seq, seq + 1);
}

/* Op @beyond, which has been posted, needs a rank that has left. */
static void coll_group_misses(struct coll_group *g, u32 rank, u32 pid, u64 beyond)
{
	struct coll_cause cause;

	coll_group_cause(g, &cause, COLL_CAUSE_CLOSE, EHOSTDOWN, rank, beyond);
	cause.pid = pid;
	coll_group_fail_later(g, &cause);
}

void coll_group_left(struct coll_member *m)
{
	struct coll_group *g = m->group;
	struct coll_left *l;
	u64 beyond;

	spin_lock(&g->lock);
	if (m->left) {
		spin_unlock(&g->lock);
		return;
	}
	m->left = true;
	l = &g->local_left[g->nr_left];
	l->rank = m->rank;
	l->seq = m->posted;
	coll_parts_leaving_locked(g, l);
	WRITE_ONCE(g->nr_left, g->nr_left + 1);
	beyond = coll_first_op_beyond_locked(g, m->posted);
	spin_unlock(&g->lock);

	/* BYE first: the parts may have very many messages to look at. */
	if (!beyond)
		coll_links_alert(g);
	coll_parts_left(g, m->rank);
	if (beyond)
		coll_group_misses(g, m->rank, m->tgid, beyond);
}

/* Did the rank of @b leave before the rank of @l? */
static bool coll_bye_is_earlier(const struct coll_bye *b, const struct coll_left *l)
{
	return l->rank == COLL_RANK_NONE || b->seq < l->seq ||
	       (b->seq == l->seq && (s32)(b->orders - l->orders) < 0);
}

int coll_group_remote_bye(struct coll_group *g, const struct coll_bye *b)
{
	u64 beyond;

	if (b->orders && !g->tensors)
		return -EPROTO;
	spin_lock(&g->lock);
	if (coll_bye_is_earlier(b, &g->remote_left))
		g->remote_left = (struct coll_left){
			.rank = b->rank, .orders = b->orders, .seq = b->seq,
		};
	beyond = coll_first_op_beyond_locked(g, b->seq);
	spin_unlock(&g->lock);
	coll_parts_left(g, b->rank);
	if (beyond)
		coll_group_misses(g, b->rank, 0, beyond);
	return 0;
}
