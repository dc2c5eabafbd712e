// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "../../pure/wire.h"
#include "failure.h"
#include "group.h"
#include "transport.h"

void coll_group_facts(struct coll_group *g, struct coll_group_facts *f)
{
	*f = (struct coll_group_facts){
		.id = g->id,
		.epoch = g->epoch,
		.size = g->size,
		.nr_nodes = g->nr_nodes,
		.nr_local = g->nr_local,
		.node = g->node,
		.map = g->map,
		.user = g->user,
		.memcg = g->memcg,
		.early = &g->early,
	};
	memcpy(f->key, g->key, sizeof(f->key));
}

u32 coll_group_ranks_of(const struct coll_group *g, u32 node)
{
	u32 i, n = 0;

	for (i = 0; i < g->size; i++)
		n += g->node_of[i] == node;
	return n;
}

bool coll_group_is_on(const struct coll_group *g, u32 rank, u32 node)
{
	return rank < g->size && g->node_of[array_index_nospec(rank, g->size)] == node;
}

int coll_group_error(const struct coll_group *g)
{
	return READ_ONCE(g->error);
}

void coll_group_cause_for_peers(struct coll_group *g, struct coll_cause *cause)
{
	spin_lock(&g->lock);
	*cause = g->cause;
	if (cause->kind == COLL_CAUSE_CLOSE)
		cause->seq = min(cause->seq, g->first_open);
	spin_unlock(&g->lock);
}

bool coll_group_will_fail(struct coll_group *g, u64 seq)
{
	bool will;

	spin_lock(&g->lock);
	will = coll_group_fails_at(g, seq);
	spin_unlock(&g->lock);
	return will;
}

bool coll_group_is_idle(const struct coll_group *g)
{
	return !READ_ONCE(g->nr_running);
}

u64 coll_group_ended(const struct coll_group *g)
{
	return READ_ONCE(g->ended);
}

u64 coll_group_now(const struct coll_group *g)
{
	u64 ended = READ_ONCE(g->ended);

	return READ_ONCE(g->nr_running) ? ended + 1 : ended;
}

u64 coll_group_announced(const struct coll_group *g)
{
	return READ_ONCE(g->announced_seq);
}

u64 coll_group_announcement(struct coll_group *g, u64 *signature)
{
	u64 seq;

	spin_lock(&g->lock);
	seq = g->announced_seq;
	*signature = g->announced_sig;
	spin_unlock(&g->lock);
	return seq;
}

bool coll_group_goodbye(struct coll_group *g, u32 i, struct coll_bye *b)
{
	const struct coll_left *l;
	bool left;

	if (i >= READ_ONCE(g->nr_left))
		return false;
	spin_lock(&g->lock);
	left = i < g->nr_left;
	if (left) {
		l = &g->local_left[i];
		*b = (struct coll_bye){ .rank = l->rank, .orders = l->orders, .seq = l->seq };
	}
	spin_unlock(&g->lock);
	return left;
}

bool coll_group_has_tensors(const struct coll_group *g)
{
	return g->tensors;
}

unsigned long coll_group_reaped(const struct coll_group *g)
{
	return g->reaped;
}
