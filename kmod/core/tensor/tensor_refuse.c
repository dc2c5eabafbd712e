// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "../../pure/coord/coord.h"
#include "../deadline.h"
#include "../group/group.h"
#include "../group/member.h"
#include "tensor_hands.h"
#include "tensor_life.h"
#include "tensor_refuse.h"

/* Give up some tensors of a group of tensors. Under group->lock. Return: there may be more. */
static bool coll_tensors_withdraw_some_locked(struct coll_member *m, u64 digest)
{
	struct coll_tensors *ts = coll_member_group(m)->tensors;
	struct coll_tensor_req *t;
	u32 n;

	lockdep_assert_held(&ts->group->lock);
	for (n = 0; n < COLL_TENSOR_BATCH; n++) {
		t = coll_tensor_ungroup_first(m, digest);
		if (!t)
			return false;
		coll_coord_give_up(&ts->coord, t->entry, m->local, COLL_BAD_GROUP);
	}
	return true;
}

void coll_tensors_withdraw(struct coll_member *m, u64 digest)
{
	struct coll_group *g = coll_member_group(m);
	bool more;

	do {
		spin_lock(&g->lock);
		more = coll_tensors_withdraw_some_locked(m, digest);
		spin_unlock(&g->lock);
		cond_resched();
	} while (more);
}

/* Under group->lock. Return: as coll_coord_refuse(). */
static int coll_tensor_refuse_locked(struct coll_member *m, const void *name, u32 len, u64 digest,
				     struct coll_coord_entry **spare)
{
	struct coll_tensors *ts = coll_member_group(m)->tensors;
	struct coll_coord_entry *e = NULL;
	int ret;

	lockdep_assert_held(&ts->group->lock);
	if (ts->group->error)
		return 0;
	ret = coll_coord_refuse(&ts->coord, m->local, name, len, digest, spare, &e);
	if (!ret && e) {
		coll_tensor_slot(e, m->local)->refused = true;
		m->tensors.refused++;
	}
	return ret;
}

void coll_tensor_refuse(struct coll_member *m, const void *name, u32 len, u64 digest)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_coord_entry *spare = NULL;
	int ret;

	for (;;) {
		spin_lock(&g->lock);
		ret = coll_tensor_refuse_locked(m, name, len, digest, &spare);
		spin_unlock(&g->lock);
		if (ret != -ENOMEM || spare)
			break;
		spare = coll_tensor_entry(g);
		if (!spare)
			break;
	}
	coll_tensor_entry_free(g, spare);
}

void coll_tensor_refusal_over(struct coll_tensors *ts, struct coll_coord_entry *e, u32 k)
{
	struct coll_tensor_slot *slot = coll_tensor_slot(e, k);
	struct coll_member *m = ts->group->members[k];

	lockdep_assert_held(&ts->group->lock);
	if (!slot->refused)
		return;
	slot->refused = false;
	if (m && !--m->tensors.refused)
		coll_tensors_wake(m);
}

/* Has all that has been refused ended, or will there be no answer? */
static bool coll_tensors_answered(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	bool answered;

	spin_lock(&g->lock);
	answered = !m->tensors.refused || g->error;
	spin_unlock(&g->lock);
	return answered;
}

void coll_tensors_refused(struct coll_member *m)
{
	wait_event_killable_timeout(m->tensors.wq, coll_tensors_answered(m),
				    coll_deadline_delay(coll_deadline(COLL_TENSOR_ANSWER_NS)));
}

void coll_tensors_wake_refused(struct coll_group *g)
{
	u32 k;

	spin_lock(&g->lock);
	for (k = 0; k < g->nr_local; k++)
		if (g->members[k] && g->members[k]->tensors.refused)
			coll_tensors_wake(g->members[k]);
	spin_unlock(&g->lock);
}
