// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include <linux/coll.h>

#include "../../compat.h"
#include "../deadline.h"
#include "failure.h"
#include "group.h"
#include "member.h"
#include "shm.h"
#include "shm_memory.h"

static bool shm = true;
module_param(shm, bool, 0644);
MODULE_PARM_DESC(shm, "let the ranks of a node share memory, for small collectives without a system call");

/* A sleeper looks by itself after this time, then less and less often. */
#define COLL_SHM_LOOK_FIRST_NS	(50 * (u64)NSEC_PER_MSEC)
#define COLL_SHM_LOOK_MOST_NS	((u64)NSEC_PER_SEC)

/*
 * Has every rank its area, so that areas may be read? Under group->lock. Once this is true it stays
 * true, so later reads of areas need no lock.
 */
static bool coll_shm_is_whole_locked(const struct coll_group *g, const struct coll_shared *s)
{
	lockdep_assert_held(&g->lock);
	return s && s->nr_areas == g->nr_local;
}

static void coll_shm_say(const struct coll_shared *s, const struct coll_member *m)
{
	struct coll_shm_rank *r = coll_shared_rank(s, m->local);

	/* A rank that sees the new number also sees what this rank wrote before the op. */
	smp_store_release(&r->completed, m->completed);
	/* as above */
	smp_store_release(&r->posted, m->posted);
	WRITE_ONCE(r->left, m->left);
}

/* Write the present state of all ranks to the header. Under group->lock. */
static void coll_shm_publish_locked(struct coll_group *g, struct coll_shared *s)
{
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->nr_local; i++)
		if (g->members[i])
			coll_shm_say(s, g->members[i]);
	WRITE_ONCE(s->header->failed, g->error);
	g->shared = s;
}

static int coll_shm_check(const struct coll_group *g)
{
	if (!READ_ONCE(shm) || g->nr_nodes > 1 || g->tensors || g->nr_local < 2 ||
	    g->nr_local > COLL_SHM_RANKS)
		return -EOPNOTSUPP;
	return READ_ONCE(g->error) ? -ESHUTDOWN : 0;
}

/* The first rank makes the header. */
static int coll_shm_make(struct coll_group *g, u32 spin_us)
{
	struct coll_shared *s;
	bool there;

	spin_lock(&g->lock);
	there = g->shared;
	spin_unlock(&g->lock);
	if (there)
		return 0;
	s = coll_shared_alloc(g, spin_us);
	if (!s)
		return -ENOMEM;
	spin_lock(&g->lock);
	if (!g->shared) {
		coll_shm_publish_locked(g, s);
		s = NULL;
	}
	spin_unlock(&g->lock);
	coll_shared_put(s);
	return 0;
}

static int coll_shm_add_area(struct coll_group *g, u32 local)
{
	struct coll_shared *s = g->shared;
	int ret = coll_shared_add_area(s, local);

	if (ret)
		return ret;
	spin_lock(&g->lock);
	__set_bit(local, s->has_area);
	s->nr_areas++;
	spin_unlock(&g->lock);
	return 0;
}

int coll_shm_open(struct coll_member *m, u32 spin_us, struct coll_shm *out)
{
	struct coll_group *g = coll_member_group(m);
	int ret = coll_shm_check(g);
	bool there;

	lockdep_assert_held(&m->setup);
	if (!ret)
		ret = coll_shm_make(g, spin_us);
	if (ret)
		return ret;
	/* No other thread sets this bit: one setup verb of a file runs at a time. */
	spin_lock(&g->lock);
	there = test_bit(m->local, g->shared->has_area);
	spin_unlock(&g->lock);
	if (!there)
		ret = coll_shm_add_area(g, m->local);
	out->local = m->local;
	out->size = (u64)g->shared->nr_pages * PAGE_SIZE;
	out->own_offset = coll_shared_area_offset(g->shared, m->local);
	out->own_size = g->shared->area_size;
	return ret;
}

/* A rank has mapped its area. When all ranks have, the memory may be used. */
static void coll_shm_mapped(struct coll_group *g, struct coll_shared *s, u32 local)
{
	spin_lock(&g->lock);
	__set_bit(local, s->has_mapped);
	if (bitmap_weight(s->has_mapped, COLL_SHM_RANKS) == g->nr_local) {
		/* pairs with shm_submit() of libcoll_user */
		smp_store_release(&s->header->active, 1);
	}
	spin_unlock(&g->lock);
}

int coll_shm_map(struct coll_member *m, struct vm_area_struct *vma)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_shared *s = NULL;
	bool whole = false;
	int ret;

	if (g) {
		spin_lock(&g->lock);
		s = g->shared;
		whole = coll_shm_is_whole_locked(g, s);
		spin_unlock(&g->lock);
	}
	if (!s)
		return -ENODEV;
	if (!whole)
		return -EAGAIN;
	ret = coll_shared_map(s, m->local, vma);
	if (!ret && vma->vm_flags & VM_WRITE)
		coll_shm_mapped(g, s, m->local);
	return ret;
}

/* Has a rank given more ops than @posted to the kernel, or has it left? */
static bool coll_shm_is_astray(const struct coll_shared *s, u32 local, u64 posted)
{
	const struct coll_shm_rank *r = coll_shared_rank(s, local);

	return READ_ONCE(r->posted) > posted || READ_ONCE(r->left);
}

/* May the op go on? The same check as in user space; see <linux/coll.h>. */
static bool coll_shm_goes_on(struct coll_group *g, const struct coll_member *m,
			     const struct coll_shm_wait *w)
{
	const struct coll_shared *s = g->shared;
	bool missing = false;
	u32 i;

	if (READ_ONCE(s->header->failed))
		return true;
	for (i = 0; i < g->nr_local; i++) {
		bool astray = i != m->local && coll_shm_is_astray(s, i, w->posted);

		/* In this order: a rank has written its slot before it posts a later op. */
		smp_rmb();
		if (coll_shared_pos(s, i, w->pos) == w->pos)
			continue;
		if (astray)
			return true;
		missing = true;
	}
	return !missing;
}

static void coll_shm_timed_out(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = coll_member_group(m);
	u32 i, late = COLL_RANK_NONE;
	struct coll_cause cause;

	for (i = g->nr_local; i--;)
		if (coll_shared_pos(g->shared, i, w->pos) != w->pos)
			late = g->local_rank[i];
	coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT, late, w->posted + 1);
	coll_group_fail(g, &cause);
}

/* A thread is about to sleep. Return: 0 or as COLL_IOC_SHM_WAIT. */
static int coll_shm_enter_locked(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!coll_shm_is_whole_locked(g, g->shared))
		return -ENOTCONN;
	if (w->posted > m->posted)
		return -EINVAL;
	/* A bound: each sleeper checks all ranks when it is woken. */
	if (m->shm_sleepers >= COLL_SHM_SLEEPERS)
		return -EBUSY;
	m->shm_sleepers++;
	m->shm_waits = w->pos;
	return 0;
}

static void coll_shm_leave(struct coll_member *m)
{
	struct coll_group *g = m->group;

	spin_lock(&g->lock);
	if (!--m->shm_sleepers)
		m->shm_waits = 0;
	spin_unlock(&g->lock);
}

/*
 * Sleep until the op may go on, and check that now and then: a rank may have written its slot and
 * been stopped before it could wake the others. Return: 0; -ETIME; -ERESTARTSYS.
 */
static int coll_shm_sleep(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = m->group;
	u64 expires = w->timeout_ns ? coll_deadline(w->timeout_ns) : U64_MAX;
	u64 slice = COLL_SHM_LOOK_FIRST_NS, now, left;
	int ret;

	for (;;) {
		now = ktime_get_ns();
		left = expires > now ? expires - now : 0;
		ret = wait_event_interruptible_hrtimeout(g->shared->wq, coll_shm_goes_on(g, m, w),
							 ns_to_ktime(min(left, slice)));
		if (ret != -ETIME || left <= slice)
			return ret;
		slice = min(2 * slice, COLL_SHM_LOOK_MOST_NS);
	}
}

int coll_shm_wait(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = coll_member_group(m);
	int ret;

	spin_lock(&g->lock);
	ret = coll_shm_enter_locked(m, w);
	spin_unlock(&g->lock);
	if (ret)
		return ret;
	ret = coll_shm_sleep(m, w);
	coll_shm_leave(m);
	if (ret == -ETIME && !coll_shm_goes_on(g, m, w)) {
		if (w->flags & COLL_SHM_WAIT_LOOK)
			return -ETIME;
		coll_shm_timed_out(m, w);
	}
	return ret == -ERESTARTSYS ? -EINTR : 0;
}

int coll_shm_wake(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_shared *s;

	spin_lock(&g->lock);
	s = g->shared;
	spin_unlock(&g->lock);
	if (!s)
		return -ENOTCONN;
	wake_up_all(&s->wq);
	return 0;
}

static void coll_shm_wake_all(struct coll_shared *s)
{
	/* Has a full barrier: a rank that is about to sleep sees the values written before. */
	if (wq_has_sleeper(&s->wq))
		wake_up_all(&s->wq);
}

void coll_shm_note(struct coll_member *m)
{
	struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!g->shared)
		return;
	coll_shm_say(g->shared, m);
	coll_shm_wake_all(g->shared);
}

u64 coll_shm_ops(const struct coll_member *m)
{
	const struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!g->shared || !test_bit(m->local, g->shared->has_area))
		return 0;
	return READ_ONCE(coll_shared_area(g->shared, m->local)->ops);
}

u32 coll_shm_late(const struct coll_group *g, u32 *first)
{
	u32 i, late = 0;
	u64 pos = 0;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->nr_local && !pos; i++)
		if (g->members[i])
			pos = g->members[i]->shm_waits;
	for (i = 0; i < g->nr_local && pos; i++)
		if (coll_shared_pos(g->shared, i, pos) != pos && !late++)
			*first = g->local_rank[i];
	return late;
}

static void coll_shm_left(struct coll_group *g, u32 rank)
{
	u32 i;

	spin_lock(&g->lock);
	for (i = 0; i < g->nr_local && g->shared; i++)
		if (g->local_rank[i] == rank)
			WRITE_ONCE(coll_shared_rank(g->shared, i)->left, 1);
	if (g->shared)
		coll_shm_wake_all(g->shared);
	spin_unlock(&g->lock);
}

/*
 * In the critical section that sets ->error: a rank that gets this error from the kernel must see
 * ->failed before it writes its next slot.
 */
static void coll_shm_failing_locked(struct coll_group *g)
{
	lockdep_assert_held(&g->lock);
	if (!g->shared)
		return;
	/* pairs with look_further() of libcoll_user */
	smp_store_release(&g->shared->header->failed, g->error);
}

static void coll_shm_fail(struct coll_group *g)
{
	spin_lock(&g->lock);
	if (g->shared)
		coll_shm_wake_all(g->shared);
	spin_unlock(&g->lock);
}

static void coll_shm_free(struct coll_group *g)
{
	coll_shared_put(g->shared);
}

const struct coll_group_part coll_shm_part = {
	.left = coll_shm_left,
	.failing_locked = coll_shm_failing_locked,
	.fail = coll_shm_fail,
	.free = coll_shm_free,
};
