// SPDX-License-Identifier: GPL-2.0
/* Results of tensors, until their ranks collect them. */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "../group/group.h"
#include "../group/member.h"
#include "tensor_hands.h"
#include "tensor_life.h"
#include "tensor_results.h"

u32 coll_tensors_collect(struct coll_member *m, struct list_head *to, u32 most)
{
	struct coll_group *g = coll_member_group(m);
	u32 n = 0;

	most = min_t(u32, most, COLL_TENSOR_BATCH);
	spin_lock(&g->lock);
	for (; n < most && !list_empty(&m->tensors.done); n++)
		list_move_tail(m->tensors.done.next, to);
	WRITE_ONCE(m->tensors.nr_done, m->tensors.nr_done - n);
	m->tensors.kept -= n;
	spin_unlock(&g->lock);
	return n;
}

void coll_tensors_uncollect(struct coll_member *m, struct list_head *from)
{
	struct coll_group *g = coll_member_group(m);
	struct list_head *l;
	u32 n = 0;

	spin_lock(&g->lock);
	list_for_each(l, from)
		n++;
	list_splice_init(from, &m->tensors.done);
	WRITE_ONCE(m->tensors.nr_done, m->tensors.nr_done + n);
	m->tensors.kept += n;
	coll_tensors_wake(m);
	spin_unlock(&g->lock);
}

void coll_tensors_wait_begin(struct coll_member *m, struct coll_tensors_waiter *w)
{
	struct coll_group *g = coll_member_group(m);

	spin_lock(&g->lock);
	if (!m->tensors.waiters++ || w->min < m->tensors.least)
		m->tensors.least = w->min;
	if (w->hand && !m->tensors.waiter)
		m->tensors.waiter = w;
	if (w->hand)
		coll_tensors_hand_locked(g);
	spin_unlock(&g->lock);
}

bool coll_tensors_wait_over(struct coll_member *m, struct coll_tensors_waiter *w)
{
	struct coll_group *g = coll_member_group(m);
	bool done;

	spin_lock(&g->lock);
	done = m->tensors.nr_done >= w->min || !m->tensors.open;
	WRITE_ONCE(w->done, done);
	spin_unlock(&g->lock);
	return done;
}

void coll_tensors_wait_end(struct coll_member *m, struct coll_tensors_waiter *w)
{
	struct coll_group *g = coll_member_group(m);

	spin_lock(&g->lock);
	m->tensors.waiters--;
	if (m->tensors.waiter == w)
		m->tensors.waiter = NULL;
	if (w->hand)
		coll_tensors_unhand_locked(g);
	spin_unlock(&g->lock);
}

bool coll_tensors_seem_collectable(const struct coll_member *m, u32 min)
{
	return READ_ONCE(m->tensors.nr_done) >= min || !READ_ONCE(m->tensors.open);
}

bool coll_tensors_open(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	bool open;

	if (!g)
		return false;
	spin_lock(&g->lock);
	open = m->tensors.open;
	spin_unlock(&g->lock);
	return open;
}

bool coll_tensors_more(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	bool more;

	spin_lock(&g->lock);
	more = m->tensors.open || m->tensors.nr_done;
	spin_unlock(&g->lock);
	return more;
}

void coll_tensors_release(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_tensor_req *t, *next;
	LIST_HEAD(done);

	if (!g || !g->tensors)
		return;
	/* The group has failed: this ends after a slice of work, or when links free the pages. */
	wait_event_idle(m->tensors.wq, !coll_tensors_open(m));
	while (coll_tensors_collect(m, &done, COLL_TENSOR_BATCH)) {
		list_for_each_entry_safe(t, next, &done, list)
			coll_tensor_free(t);
		INIT_LIST_HEAD(&done);
		cond_resched();
	}
}
