// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/string.h>

#include "../group/group.h"
#include "../group/link.h"
#include "../group/member.h"
#include "../group/op_state.h"
#include "../group/shm.h"
#include "../p2p/mailbox.h"
#include "status.h"

u32 coll_group_state(struct coll_group *g)
{
	u32 links, ready;

	if (READ_ONCE(g->error))
		return COLL_STATE_FAILED;
	/* User space decides which links it needs; with several nodes it needs one at least. */
	links = coll_links_count(g, &ready);
	if (READ_ONCE(g->nr_came) != g->nr_local || ready != links ||
	    (g->nr_nodes > 1 && !links))
		return COLL_STATE_JOINING;
	return COLL_STATE_READY;
}

/* The rank that the oldest op waits for. Under group->lock. */
static void coll_status_late_locked(struct coll_group *g, struct coll_status *s)
{
	const struct coll_op *op;
	u32 i;

	lockdep_assert_held(&g->lock);
	op = list_first_entry_or_null(&g->ops, struct coll_op, list);
	if (!op) {
		s->nr_late = coll_shm_late(g, &s->late_rank);
		return;
	}
	for (i = 0; i < g->nr_local; i++) {
		const struct coll_member *m = g->members[i];

		if (m && m->posted >= op->seq)
			continue;
		if (!s->nr_late++)
			s->late_rank = g->local_rank[i];
	}
}

void coll_member_status(struct coll_member *m, struct coll_status *s)
{
	struct coll_group *g = coll_member_group(m);

	memset(s, 0, sizeof(*s));
	s->late_rank = COLL_RANK_NONE;
	s->pinned = READ_ONCE(m->pinned);
	if (!g)
		return;
	s->state = coll_group_state(g);
	s->rank = m->rank;
	s->size = g->size;
	s->node = g->node;
	s->nr_nodes = g->nr_nodes;
	s->nr_local = g->nr_local;
	coll_links_count(g, &s->nr_links);
	spin_lock(&g->lock);
	s->nr_joined = g->nr_joined;
	s->posted = m->posted;
	s->completed = m->completed;
	s->messages = m->messages;
	s->match_steps = coll_msgs_steps(m);
	s->shm_ops = coll_shm_ops(m);
	s->memlock_wanted = g->memlock_wanted;
	s->cause = g->cause;
	coll_status_late_locked(g, s);
	spin_unlock(&g->lock);
}
