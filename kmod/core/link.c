// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/nospec.h>

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

	if (l->flags || peer >= g->nr_nodes || peer == g->node ||
	    l->stripe >= COLL_MAX_STRIPES)
		return -EINVAL;
	if (READ_ONCE(g->error))
		return -ESHUTDOWN;
	peer = array_index_nospec(peer, g->nr_nodes);
	return coll_transport->add(g, peer, l->fd, l->stripe);
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
