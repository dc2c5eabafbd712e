// SPDX-License-Identifier: GPL-2.0
/* The messages of a group: mailboxes of its ranks, and offers of peers. */
#include <linux/bitmap.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "../group/group.h"
#include "mailbox.h"
#include "messages.h"
#include "peer.h"
#include "state.h"

int coll_msgs_init(struct coll_group *g)
{
	struct coll_msgs *ms = kzalloc(sizeof(*ms), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!ms)
		return -ENOMEM;
	g->msgs = ms;
	INIT_LIST_HEAD(&ms->all);
	ms->boxes = kvcalloc(g->nr_local, sizeof(*ms->boxes), GFP_KERNEL_ACCOUNT);
	ms->peers = kvcalloc(g->nr_nodes, sizeof(*ms->peers), GFP_KERNEL_ACCOUNT);
	ms->left = bitmap_zalloc(g->size, GFP_KERNEL_ACCOUNT);
	ms->down = bitmap_zalloc(g->nr_nodes, GFP_KERNEL_ACCOUNT);
	if (!ms->boxes || !ms->peers || !ms->left || !ms->down)
		return -ENOMEM;
	for (i = 0; i < g->nr_local; i++)
		coll_mailbox_init(&ms->boxes[i], g);
	for (i = 0; i < g->nr_nodes; i++) {
		INIT_LIST_HEAD(&ms->peers[i].frames);
		INIT_LIST_HEAD(&ms->peers[i].sends);
		INIT_LIST_HEAD(&ms->peers[i].recvs);
		ms->peers[i].asked = RB_ROOT;
		ms->peers[i].offers = RB_ROOT;
	}
	return 0;
}

void coll_msgs_free(struct coll_group *g)
{
	struct coll_msgs *ms = g->msgs;
	u32 i;

	if (!ms)
		return;
	/* No request is left, so all notes are offers of other nodes. */
	for (i = 0; ms->boxes && i < g->nr_local; i++) {
		if (!ms->boxes[i].held.next)
			continue;
		coll_notes_free(g, &ms->boxes[i].offered);
		coll_notes_free(g, &ms->boxes[i].held);
	}
	for (i = 0; ms->peers && i < g->nr_nodes; i++)
		if (ms->peers[i].frames.next)
			coll_notes_free(g, &ms->peers[i].frames);
	bitmap_free(ms->down);
	bitmap_free(ms->left);
	kvfree(ms->peers);
	kvfree(ms->boxes);
	kfree(ms);
}

const struct coll_msg_counts *coll_msgs_counts(const struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	return &g->msgs->counts;
}

bool coll_msg_any(const struct coll_group *g)
{
	return !list_empty_careful(&g->msgs->all);
}

void coll_msgs_add(struct coll_group *g, struct coll_msg *msg)
{
	lockdep_assert_held(&g->lock);
	msg->walked = g->msgs->walks;
	list_add_tail(&msg->all, &g->msgs->all);
}
