// SPDX-License-Identifier: GPL-2.0
/* A step has made progress: links and helpers look at the steps that wait for it. */
#include "../group/link.h"
#include "exec.h"
#include "helper.h"
#include "kick.h"

void coll_exec_kick(struct coll_exec *x, const struct coll_exec_step *st)
{
	struct coll_group *g = x->op->group;
	bool all = coll_exec_reuses(x);
	u32 i;

	for (i = 0; i < x->nr_peers; i++) {
		struct coll_exec_peer *p = &x->peers[i];
		struct coll_link *link;

		/* If blocks reuse scratch, a later block may wait for any earlier one. */
		if (p->link != st->link && !all)
			continue;
		/* Racy reads: the link's own work looks again. */
		if (READ_ONCE(p->send) == COLL_DEP_NONE &&
		    READ_ONCE(p->recv) == COLL_DEP_NONE)
			continue;
		link = coll_group_link(g, p->peer, p->link);
		link->ops->kick(link);
	}
	for (i = 0; i < x->nr_helpers; i++)
		if (READ_ONCE(x->helpers[i].nr))
			coll_helper_kick(&x->helpers[i]);
}
