// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes tell each other what is ready, and what starts. They form a tree, see coord_tree.h.
 */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/nospec.h>

#include "../../pure/coord/coord_order.h"
#include "../../pure/coord/coord_talk.h"
#include "../../pure/coord/coord_wire.h"
#include "../../pure/wire.h"
#include "../group/group.h"
#include "../group/link.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "tensor_left.h"
#include "tensor_life.h"
#include "tensor_talk.h"

/* The place of a node in the tree, and back. */
static u32 coll_tree_place(const struct coll_group *g, u32 node)
{
	return (node + g->nr_nodes - g->node_of[0]) % g->nr_nodes;
}

static u32 coll_tree_node(const struct coll_group *g, u32 place)
{
	return (place + g->node_of[0]) % g->nr_nodes;
}

void coll_tensors_plant(struct coll_tensors *ts)
{
	const struct coll_group *g = ts->group;
	u32 place = coll_tree_place(g, g->node);

	ts->coord.is_root = !place;
	ts->parent = place ? coll_tree_node(g, (place - 1) / COLL_COORD_FANOUT) : g->node;
	ts->first_child = place * COLL_COORD_FANOUT + 1;
	if (ts->first_child < g->nr_nodes)
		ts->nr_children = min_t(u32, COLL_COORD_FANOUT, g->nr_nodes - ts->first_child);
	ts->coord.all_children = (1U << ts->nr_children) - 1;
}

static u32 coll_tensors_child(const struct coll_tensors *ts, u32 i)
{
	return coll_tree_node(ts->group, ts->first_child + i);
}

/* Number of a node among the children; COLL_COORD_FANOUT: it is no child. */
static u32 coll_tensors_which(const struct coll_tensors *ts, u32 node)
{
	u32 place = coll_tree_place(ts->group, node);

	if (place < ts->first_child || place - ts->first_child >= ts->nr_children)
		return COLL_COORD_FANOUT;
	return array_index_nospec(place - ts->first_child, COLL_COORD_FANOUT);
}

u32 coll_tensors_below(const struct coll_tensors *ts, u32 node)
{
	u32 place = coll_tree_place(ts->group, node);

	while (place >= ts->first_child + ts->nr_children)
		place = (place - 1) / COLL_COORD_FANOUT;
	return place < ts->first_child ? COLL_COORD_FANOUT : place - ts->first_child;
}

bool coll_tensors_linked(struct coll_group *g)
{
	const struct coll_tensors *ts = g->tensors;
	u32 i;

	if (!ts->coord.is_root && !coll_link_usable(g, ts->parent, 0))
		return false;
	for (i = 0; i < ts->nr_children; i++)
		if (!coll_link_usable(g, coll_tensors_child(ts, i), 0))
			return false;
	return true;
}

static void coll_tensors_call_node(struct coll_group *g, u32 node)
{
	struct coll_link *link = coll_group_link(g, node, 0);

	if (link)
		link->ops->call(link);
}

void coll_tensors_call(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	u32 children = 0, i;
	bool up;

	if (g->nr_nodes == 1)
		return;
	spin_lock(&g->lock);
	up = !ts->coord.is_root && !coll_chain_empty(&ts->coord.up);
	/* A failed group only tells its peers that it has failed. */
	up &= !g->error;
	for (i = 0; i < ts->nr_children && !g->error; i++)
		if (ts->coord.cursor[i] != &ts->coord.log)
			children |= 1U << i;
	spin_unlock(&g->lock);
	if (up)
		coll_tensors_call_node(g, ts->parent);
	for (i = 0; i < ts->nr_children; i++)
		if (children >> i & 1)
			coll_tensors_call_node(g, coll_tensors_child(ts, i));
}

bool coll_tensors_owe(struct coll_group *g, u32 node)
{
	const struct coll_tensors *ts = g->tensors;
	u32 child = coll_tensors_which(ts, node);
	bool owe = false;

	spin_lock(&g->lock);
	if (child < COLL_COORD_FANOUT)
		owe = ts->coord.cursor[child] != &ts->coord.log;
	else if (!ts->coord.is_root && node == ts->parent)
		owe = !coll_chain_empty(&ts->coord.up) && !ts->coord.left;
	owe &= !g->error;
	spin_unlock(&g->lock);
	return owe;
}

u32 coll_tensors_say(struct coll_group *g, u32 node, u8 *buf, u32 room)
{
	struct coll_tensors *ts = g->tensors;
	u32 child = coll_tensors_which(ts, node);
	struct coll_coord_rec r;
	u32 len = 0;

	BUILD_BUG_ON(COLL_COORD_REC_MAX > COLL_WIRE_TENSOR_MAX);
	if (child == COLL_COORD_FANOUT && (ts->coord.is_root || node != ts->parent))
		return 0;
	spin_lock(&g->lock);
	while (!g->error && room - len >= COLL_COORD_REC_MAX) {
		if (child < COLL_COORD_FANOUT ? !coll_coord_to_child(&ts->coord, child, &r) :
						!coll_coord_to_parent(&ts->coord, &r))
			break;
		len += coll_coord_put(buf + len, &r);
	}
	spin_unlock(&g->lock);
	return len;
}

/* Is the record allowed? LEAVE is not: ranks leave by BYE. */
static bool coll_tensors_knows(const struct coll_group *g, const struct coll_coord_rec *r)
{
	switch (r->kind) {
	case COLL_READY:
		return r->contributors && r->contributors <= g->size;
	case COLL_JOIN:
	case COLL_ORDER_JOINED:
		return r->rank < g->size;
	case COLL_ORDER_START:
		return r->contributors && r->contributors <= g->size;
	}
	return r->kind == COLL_FAIL || r->kind == COLL_ORDER_BAD || r->kind == COLL_GOT;
}

/* Under group->lock. */
static int coll_tensors_obey_locked(struct coll_tensors *ts, u32 node, const struct coll_coord_rec *r,
			     struct coll_coord_entry **spare)
{
	u32 child = coll_tensors_which(ts, node);

	lockdep_assert_held(&ts->group->lock);
	/* Ignore what comes after an order that could not be applied: the group is about to fail. */
	if (ts->group->error || ts->broken)
		return 0;
	if (!coll_tensors_knows(ts->group, r))
		return -EPROTO;
	if (child < COLL_COORD_FANOUT)
		return coll_coord_from_child(&ts->coord, child, r, spare);
	if (ts->coord.is_root || node != ts->parent)
		return -EPROTO;
	return coll_coord_from_parent(&ts->coord, r, spare);
}

static int coll_tensors_hear_one(struct coll_group *g, u32 node, const struct coll_coord_rec *r)
{
	struct coll_tensors *ts = g->tensors;
	struct coll_coord_entry *spare = NULL;
	int ret;

	for (;;) {
		spin_lock(&g->lock);
		ret = coll_tensors_obey_locked(ts, node, r, &spare);
		spin_unlock(&g->lock);
		if (ret != -ENOMEM || spare)
			break;
		spare = coll_tensor_entry(g);
		if (!spare)
			break;
	}
	coll_tensor_entry_free(g, spare);
	if (ret == -EPROTO || !ret)
		return ret;
	/* There is no room for a name that another node has posted. */
	coll_group_no_memory(g, ret, 0);
	return 0;
}

/* The caller holds a reference of the group, so no link is freed meanwhile. */
static int coll_tensors_hear_all(struct coll_group *g, u32 node, const u8 *buf, u32 len)
{
	struct coll_tensors *ts = g->tensors;
	struct coll_coord_rec r;
	bool settle;
	int ret = 0;
	u32 n;

	while (len && !ret) {
		n = coll_coord_get(buf, len, &r);
		ret = n ? coll_tensors_hear_one(g, node, &r) : -EPROTO;
		buf += n;
		len -= n;
	}
	spin_lock(&g->lock);
	if (!g->error)
		coll_coord_run(&ts->coord);
	/* The work also looks at what a join has left to be done, and for ranks that have left. */
	settle = ts->to_advance || (ts->broken && !g->error) || ts->coord.look || ts->coord.more ||
		 !list_empty(&ts->ended) || coll_tensors_miss_locked(ts);
	spin_unlock(&g->lock);
	if (settle)
		queue_work(g->user->wq, &ts->work);
	coll_tensors_call(g);
	return ret;
}

int coll_tensors_hear(struct coll_group *g, u32 node, const u8 *buf, u32 len)
{
	int ret;

	if (!g->tensors)
		return -EPROTO;
	/* All members have left: links are about to be closed, one after the other. */
	if (!kref_get_unless_zero(&g->ref))
		return 0;
	ret = coll_tensors_hear_all(g, node, buf, len);
	coll_group_put(g);
	return ret;
}
