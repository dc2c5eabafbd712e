// SPDX-License-Identifier: GPL-2.0
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>

#include "group.h"
#include "link.h"

static const struct coll_transport *coll_transport;

void coll_link_set_transport(const struct coll_transport *t)
{
	coll_transport = t;
}

int coll_link_add(struct coll_group *g, const struct coll_link_add *l)
{
	u32 peer = l->peer;

	if (l->flags || l->parent_peer || peer >= g->nr_nodes || peer == g->node ||
	    l->stripe >= COLL_MAX_STRIPES)
		return -EINVAL;
	if (READ_ONCE(g->error))
		return -ESHUTDOWN;
	peer = array_index_nospec(peer, g->nr_nodes);
	return coll_transport->add(g, peer, l->fd, l->stripe);
}

int coll_link_share(struct coll_group *g, struct coll_group *parent,
		    const struct coll_link_add *l)
{
	u32 peer = l->peer, parent_peer = l->parent_peer;
	struct coll_link *via;

	if (l->flags != COLL_LINK_SHARE || l->stripe || peer >= g->nr_nodes ||
	    peer == g->node || parent_peer >= parent->nr_nodes ||
	    parent_peer == parent->node)
		return -EINVAL;
	if (!uid_eq(g->uid, parent->uid))
		return -EPERM;
	if (READ_ONCE(g->error) || READ_ONCE(parent->error))
		return -ESHUTDOWN;
	peer = array_index_nospec(peer, g->nr_nodes);
	parent_peer = array_index_nospec(parent_peer, parent->nr_nodes);
	via = coll_group_link(parent, parent_peer);
	if (!via)
		return -ENOTCONN;
	return coll_transport->share(g, peer, via);
}

struct coll_link *coll_group_link(const struct coll_group *g, u32 peer)
{
	/* pairs with the transport's store when it has set the link up */
	return smp_load_acquire(&g->links[peer]);
}

void coll_links_kick(struct coll_group *g)
{
	u32 i;

	for (i = 0; i < g->nr_nodes; i++) {
		struct coll_link *link = coll_group_link(g, i);

		if (link)
			link->ops->kick(link);
	}
}

void coll_links_stir(struct coll_group *g)
{
	u32 i;

	for (i = 0; i < g->nr_nodes; i++) {
		struct coll_link *link = coll_group_link(g, i);

		if (link)
			link->ops->stir(link);
	}
}

u32 coll_links_watch(struct coll_group *g)
{
	u32 peers = 0, i;

	if (g->nr_nodes > BITS_PER_TYPE(peers))
		return 0;
	for (i = 0; i < g->nr_nodes; i++) {
		struct coll_link *link = coll_group_link(g, i);

		if (!link)
			continue;
		link->ops->watch(link);
		peers |= BIT(i);
	}
	return peers;
}

void coll_links_poll(struct coll_group *g, u32 peers)
{
	for (; peers; peers &= peers - 1) {
		struct coll_link *link = coll_group_link(g, __ffs(peers));

		link->ops->poll(link);
		if (need_resched() || signal_pending(current))
			return;
	}
}

void coll_links_unwatch(struct coll_group *g, u32 peers)
{
	for (; peers; peers &= peers - 1) {
		struct coll_link *link = coll_group_link(g, __ffs(peers));

		link->ops->unwatch(link);
	}
}

u32 coll_links_count(struct coll_group *g, u32 *ready)
{
	u32 nr = 0;
	u32 i;

	*ready = 0;
	for (i = 0; i < g->nr_nodes; i++) {
		struct coll_link *link = coll_group_link(g, i);

		if (!link)
			continue;
		nr++;
		*ready += link->ops->ready(link);
	}
	return nr;
}

bool coll_link_usable(const struct coll_group *g, u32 peer)
{
	const struct coll_link *link = coll_group_link(g, peer);

	return link && link->ops->connected(link);
}
