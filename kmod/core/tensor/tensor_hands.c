// SPDX-License-Identifier: GPL-2.0
/*
 * On one node, ranks that wait for named collectives do the work of these. A rank that does not
 * wait yet computes, or posts. A worker on its CPU would delay the rank, and an urgent tensor that
 * it has not posted yet.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/lockdep.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../group/account.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "../limits.h"
#include "../op/op_run.h"
#include "../user.h"
#include "../worker.h"
#include "tensor_hands.h"
#include "tensors.h"

void coll_tensors_wake(struct coll_member *m)
{
	wake_up(&m->tensors.wq);
	/* pairs with coll_await_arm() */
	if (wq_has_sleeper(&m->tensors.awaits))
		wake_up(&m->tensors.awaits);
}

void coll_tensors_hand_locked(struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	g->tensors->hands++;
}

void coll_tensors_unhand_locked(struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	if (!--g->tensors->hands && g->nr_open && g->nr_nodes == 1 && !g->error)
		mod_delayed_work(g->user->wq, &g->tensors->staff, 0);
}

void coll_tensors_post_begin(struct coll_group *g)
{
	spin_lock(&g->lock);
	coll_tensors_hand_locked(g);
	g->tensors->posts++;
	spin_unlock(&g->lock);
}

void coll_tensors_post_end(struct coll_group *g)
{
	spin_lock(&g->lock);
	g->tensors->posts--;
	coll_tensors_unhand_locked(g);
	spin_unlock(&g->lock);
}

u32 coll_tensors_hands(struct coll_group *g, bool large)
{
	unsigned long patience = msecs_to_jiffies(COLL_STAFF_MS);
	struct coll_tensors *ts = g->tensors;
	struct coll_member *m;
	u32 hands, k, waiting = 0;

	/* With links, ops of one node alone are rare: let workers do them. */
	if (g->nr_nodes > 1)
		return 0;
	spin_lock(&g->lock);
	hands = ts->hands;
	for (k = 0; k < g->nr_local; k++) {
		m = g->members[k];
		if (m && m->tensors.waiters)
			coll_tensors_wake(m);
		waiting += m && m->tensors.waiter;
	}
	/* If all ranks wait, and no other thread of them posts, workers disturb none of them. */
	if (waiting == g->nr_local && !ts->posts)
		hands = 0;
	/* A post may block in user memory, and a thread that helps may get little time. */
	if (hands && large && !g->error) {
		ts->staff_by = jiffies + patience;
		mod_delayed_work(g->user->wq, &ts->staff, patience);
	}
	spin_unlock(&g->lock);
	return hands;
}

/* Do ranks help, and for a short time only? Then look again later. */
static bool coll_tensors_helped(struct coll_group *g)
{
	struct coll_tensors *ts = g->tensors;
	bool helped;

	spin_lock(&g->lock);
	helped = ts->hands && time_before(jiffies, ts->staff_by);
	if (helped)
		queue_delayed_work(g->user->wq, &ts->staff, ts->staff_by - jiffies);
	spin_unlock(&g->lock);
	return helped;
}

void coll_tensors_staff(struct work_struct *work)
{
	struct coll_tensors *ts = container_of(to_delayed_work(work), struct coll_tensors, staff);
	struct coll_group *g = ts->group;
	struct coll_worker w;

	/* Without a reference no op is left, and the reaper waits for this item. */
	if (!kref_get_unless_zero(&g->ref))
		return;
	/* A rank that has posted mostly comes back at once, to post more or to wait. */
	usleep_range(COLL_STAFF_US, 2 * COLL_STAFF_US);
	coll_worker_begin(&w, g->user, &g->error);
	if (!coll_tensors_helped(g))
		coll_group_staff(g);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	coll_group_put(g);
}
