// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/sched.h>

#include "../limits.h"
#include "group.h"
#include "link.h"

static const struct coll_transport *coll_transport;

void coll_link_set_transport(const struct coll_transport *t)
{
	coll_transport = t;
}

int coll_link_add(struct coll_group *g, const struct coll_link_add *l)
{
	u32 peer = l->peer, stripe = l->stripe;

	if (l->flags || l->parent_peer || peer >= g->nr_nodes || peer == g->node ||
	    stripe >= COLL_MAX_STRIPES)
		return -EINVAL;
	if (READ_ONCE(g->error))
		return -ESHUTDOWN;
	peer = array_index_nospec(peer, g->nr_nodes);
	stripe = array_index_nospec(stripe, COLL_MAX_STRIPES);
	return coll_transport->add(g, peer, l->fd, stripe);
}

int coll_link_share(struct coll_group *g, struct coll_group *parent,
		    const struct coll_link_add *l)
{
	u32 peer = l->peer, parent_peer = l->parent_peer, nr = l->stripe / 2;
	struct coll_link *via;

	if (l->flags != COLL_LINK_SHARE || l->stripe % 2 || nr >= COLL_MAX_LINKS ||
	    peer >= g->nr_nodes || peer == g->node ||
	    parent_peer >= parent->nr_nodes || parent_peer == parent->node)
		return -EINVAL;
	if (!uid_eq(g->uid, parent->uid))
		return -EPERM;
	if (READ_ONCE(g->error) || READ_ONCE(parent->error))
		return -ESHUTDOWN;
	peer = array_index_nospec(peer, g->nr_nodes);
	parent_peer = array_index_nospec(parent_peer, parent->nr_nodes);
	nr = array_index_nospec(nr, COLL_MAX_LINKS);
	via = coll_group_link(parent, parent_peer, nr);
	if (!via)
		return -ENOTCONN;
	return coll_transport->share(g, peer, nr, via);
}

struct coll_link *coll_group_link(const struct coll_group *g, u32 peer, u32 nr)
{
	/* pairs with coll_group_add_link() */
	return smp_load_acquire(&g->links[nr * g->nr_nodes + peer]);
}

bool coll_group_add_link(struct coll_link *link)
{
	struct coll_group *g = link->group;
	u32 at = link->nr * g->nr_nodes + link->peer;
	bool free;

	spin_lock(&g->lock);
	free = !g->links[at];
	if (free) {
		/* pairs with coll_group_link() */
		smp_store_release(&g->links[at], link);
		WRITE_ONCE(g->nr_links, max(g->nr_links, link->nr + 1));
	}
	spin_unlock(&g->lock);
	return free;
}

/* All links to all nodes, one after the other. */
static struct coll_link *coll_links_nth(const struct coll_group *g, u32 i)
{
	return coll_group_link(g, i % g->nr_nodes, i / g->nr_nodes);
}

/* Find the next link that exists, from number *i to before number @end. NULL: there is none. */
static struct coll_link *coll_links_find(const struct coll_group *g, u32 *i, u32 end)
{
	struct coll_link *link;

	for (; *i < end; (*i)++) {
		link = coll_links_nth(g, *i);
		if (link)
			return link;
	}
	return NULL;
}

#define coll_links_for_each(g, i, end, link) \
	for ((i) = 0; ((link) = coll_links_find(g, &(i), end)); (i)++)

void coll_links_kick(struct coll_group *g, u32 nr)
{
	u32 i, end = min(nr, READ_ONCE(g->nr_links)) * g->nr_nodes;
	struct coll_link *link;

	coll_links_for_each(g, i, end, link)
		link->ops->kick(link);
}

void coll_links_call(struct coll_group *g)
{
	u32 i, end = READ_ONCE(g->nr_links) * g->nr_nodes;
	struct coll_link *link;

	coll_links_for_each(g, i, end, link)
		link->ops->call(link);
}

void coll_links_alert(struct coll_group *g)
{
	u32 i, end = READ_ONCE(g->nr_links) * g->nr_nodes;
	struct coll_link *link;

	coll_links_for_each(g, i, end, link)
		link->ops->alert(link);
}

void coll_links_stir(struct coll_group *g)
{
	u32 i;

	for (i = 0; i < g->nr_nodes; i++) {
		struct coll_link *link = coll_group_link(g, i, 0);

		if (link)
			link->ops->stir(link);
	}
}

/* Number of links that a caller attends to. With very many it would see the end of its op late. */
static u32 coll_links_watched(const struct coll_group *g)
{
	u32 nr = READ_ONCE(g->nr_links) * g->nr_nodes;

	return nr <= COLL_WATCH_LINKS ? nr : 0;
}

void coll_links_watch(struct coll_group *g, struct coll_watcher *w)
{
	u32 i, end = coll_links_watched(g);
	struct coll_link *link;

	coll_links_for_each(g, i, end, link)
		w->got += link->ops->watch(link, w);
	/* The caller does not attend to links that are made later. */
	w->nr = end;
}

bool coll_links_due(struct coll_group *g, const struct coll_watcher *w)
{
	const struct coll_link *link;
	u32 i;

	coll_links_for_each(g, i, w->nr, link)
		if (link->ops->due(link, w))
			return true;
	return false;
}

void coll_links_attend(struct coll_group *g, struct coll_watcher *w)
{
	u32 i;

	for (i = 0; i < w->nr && !READ_ONCE(*w->done); i++) {
		struct coll_link *link = coll_links_nth(g, i);

		if (link && link->ops->due(link, w)) {
			link->ops->attend(link, w);
			cond_resched();
		}
	}
}

void coll_links_unwatch(struct coll_group *g, struct coll_watcher *w)
{
	struct coll_link *link;
	u32 i;

	coll_links_for_each(g, i, w->nr, link)
		link->ops->unwatch(link, w);
	w->nr = 0;
	w->got = 0;
}

u32 coll_links_count(struct coll_group *g, u32 *ready)
{
	u32 i, end = READ_ONCE(g->nr_links) * g->nr_nodes;
	struct coll_link *link;
	u32 nr = 0;

	*ready = 0;
	coll_links_for_each(g, i, end, link) {
		nr++;
		*ready += link->ops->ready(link);
	}
	return nr;
}

bool coll_link_usable(const struct coll_group *g, u32 peer, u32 nr)
{
	const struct coll_link *link = coll_group_link(g, peer, nr);

	return link && link->ops->connected(link);
}
