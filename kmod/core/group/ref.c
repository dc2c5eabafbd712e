// SPDX-License-Identifier: GPL-2.0
#include <linux/container_of.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/workqueue.h>

#include "group.h"
#include "ref.h"

static void coll_group_release(struct kref *ref)
{
	struct coll_group *g = container_of(ref, struct coll_group, ref);

	g->reaped = jiffies;
	/* By a work item: the caller may be the work of a link, and the reaper waits for that. */
	queue_delayed_work(g->user->reap_wq, &g->reap, 0);
}

void coll_group_get(struct coll_group *g)
{
	kref_get(&g->ref);
}

void coll_group_put(struct coll_group *g)
{
	kref_put(&g->ref, coll_group_release);
}
