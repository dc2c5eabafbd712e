// SPDX-License-Identifier: GPL-2.0
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include <linux/coll.h>

#include "../../compat.h"
#include "../deadline.h"
#include "failure.h"
#include "group.h"
#include "member.h"
#include "proxy.h"
#include "shm.h"
#include "shm_memory.h"

static bool shm = true;
module_param(shm, bool, 0644);
MODULE_PARM_DESC(shm, "let the ranks of a node share memory, for small collectives without a system call");

/* A sleeper looks by itself after this time, then less and less often. */
#define COLL_SHM_LOOK_FIRST_NS	(50 * (u64)NSEC_PER_MSEC)
#define COLL_SHM_LOOK_MOST_NS	((u64)NSEC_PER_SEC)

/*
 * Does every rank have its area? Then areas may be read. Under group->lock. Once this is true it
 * stays true, so later reads of areas need no lock.
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
	if (!READ_ONCE(shm) || g->tensors || g->nr_local < 2 ||
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

static int coll_shm_add_area(struct coll_group *g, struct coll_member *m)
{
	struct coll_proxy *proxy = NULL;
	struct coll_shared *s = g->shared;
	int ret;

	if (g->nr_nodes > 1 && m->local) {
		proxy = coll_proxy_new(m);
		if (!proxy)
			return -ENOMEM;
	}
	ret = coll_shared_add_area(s, m->local);
	if (ret) {
		coll_proxy_free(m, proxy);
		return ret;
	}
	spin_lock(&g->lock);
	m->proxy = proxy;
	__set_bit(m->local, s->has_area);
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
		ret = coll_shm_add_area(g, m);
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

/* Has another rank posted the op for @m? Then only its end is of interest. */
static bool coll_shm_is_posted(const struct coll_shared *s, const struct coll_member *m,
			       const struct coll_shm_wait *w)
{
	return w->flags & COLL_SHM_WAIT_FINISHED &&
	       READ_ONCE(coll_shared_rank(s, m->local)->posted) >= w->pos;
}

/*
 * May the op go on? The same check as in user space; see <linux/coll.h>. Also called by threads
 * that wake others, under the lock of the wait queue.
 */
static bool coll_shm_goes_on(struct coll_group *g, const struct coll_member *m,
			     const struct coll_shm_wait *w)
{
	const struct coll_shared *s = g->shared;
	bool missing = false;
	u32 i;

	if (coll_shm_is_posted(s, m, w))
		return READ_ONCE(coll_shared_rank(s, m->local)->finished) >= w->pos;
	if (READ_ONCE(s->header->failed))
		return true;
	/* Another thread of this rank has ended the op, and begun a later one in the same slot. */
	if (coll_shared_pos(s, m->local, w->pos) > w->pos)
		return true;
	/* No rank posts the op for @m any more. */
	if (w->flags & COLL_SHM_WAIT_FINISHED && READ_ONCE(coll_shared_rank(s, 0)->left))
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
	return !missing && !(w->flags & COLL_SHM_WAIT_FINISHED);
}

/* The first rank without the op at @w->pos; if all have it, the rank that has to post it. */
static u32 coll_shm_late_rank(const struct coll_group *g, const struct coll_shm_wait *w)
{
	u32 i;

	for (i = 0; i < g->nr_local; i++)
		if (coll_shared_pos(g->shared, i, w->pos) != w->pos)
			return g->local_rank[i];
	return g->local_rank[0];
}

/*
 * The time of a wait is over. No op is posted while group->lock is held, so an op that another rank
 * has just posted for @m is not failed here. Return: as coll_shm_wait().
 */
static int coll_shm_timed_out(struct coll_member *m, const struct coll_shm_wait *w)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_cause cause;
	bool failed = false;
	int ret = 0;

	spin_lock(&g->lock);
	if (!coll_shm_goes_on(g, m, w)) {
		ret = -ETIME;
		if (!(w->flags & COLL_SHM_WAIT_LOOK) && !coll_shm_is_posted(g->shared, m, w)) {
			coll_group_cause(g, &cause, COLL_CAUSE_TIMEOUT, ETIMEDOUT,
					 coll_shm_late_rank(g, w), w->posted + 1);
			failed = coll_group_fail_locked(g, &cause);
			ret = failed ? -ETIMEDOUT : 0;
		}
	}
	spin_unlock(&g->lock);
	if (failed)
		coll_group_failed(g);
	return ret;
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

/**
 * struct coll_shm_sleeper - a thread in coll_shm_sleep()
 * @entry: in shared->wq
 * @m: its member
 * @w: its op
 */
struct coll_shm_sleeper {
	struct wait_queue_entry entry;
	struct coll_member *m;
	const struct coll_shm_wait *w;
};

/* Called at each post and each end of an op: wake only a thread whose op may go on. */
static int coll_shm_wake_one(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct coll_shm_sleeper *s = container_of(entry, struct coll_shm_sleeper, entry);

	if (!coll_shm_goes_on(s->m->group, s->m, s->w))
		return 0;
	return autoremove_wake_function(entry, mode, sync, key);
}

/* One sleep of at most @ns. Return: 0: the op may go on; -ETIME; -ERESTARTSYS. */
static int coll_shm_sleep_once(struct coll_shm_sleeper *s, u64 ns)
{
	struct coll_group *g = s->m->group;
	ktime_t expires = ns_to_ktime(min_t(u64, ns, KTIME_MAX));
	int ret = 0;

	prepare_to_wait(&g->shared->wq, &s->entry, TASK_INTERRUPTIBLE);
	if (coll_shm_goes_on(g, s->m, s->w))
		goto out;
	if (signal_pending(current)) {
		ret = -ERESTARTSYS;
		goto out;
	}
	schedule_hrtimeout_range(&expires, current->timer_slack_ns, HRTIMER_MODE_REL);
	ret = coll_shm_goes_on(g, s->m, s->w) ? 0 : -ETIME;
out:
	finish_wait(&g->shared->wq, &s->entry);
	return ret;
}

/*
 * Sleep until the op may go on, and check that now and then: a rank may have written its slot and
 * been stopped before it could wake the others. Return: 0; -ETIME; -ERESTARTSYS.
 */
static int coll_shm_sleep(struct coll_member *m, const struct coll_shm_wait *w)
{
	u64 expires = w->timeout_ns ? coll_deadline(w->timeout_ns) : U64_MAX;
	u64 slice = COLL_SHM_LOOK_FIRST_NS, now, left;
	struct coll_shm_sleeper s = { .m = m, .w = w };
	int ret;

	init_wait(&s.entry);
	s.entry.func = coll_shm_wake_one;
	for (;;) {
		now = ktime_get_ns();
		left = expires > now ? expires - now : 0;
		ret = coll_shm_sleep_once(&s, min(left, slice));
		if (ret != -ETIME || !left)
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
	if (ret == -ETIME)
		return coll_shm_timed_out(m, w);
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

int coll_shm_wake(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_shared *s;

	/*
	 * Also waits for coll_node_post_locked() of another rank, which may have seen our slot
	 * before we withdrew it.
	 */
	spin_lock(&g->lock);
	s = g->shared;
	spin_unlock(&g->lock);
	if (!s)
		return -ENOTCONN;
	wake_up_all(&s->wq);
	return 0;
}

void coll_shm_note(struct coll_member *m)
{
	struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (!g->shared)
		return;
	coll_shm_say(g->shared, m);
	/* The rank that posts for this one wakes the sleepers, once for all ranks. */
	if (!m->proxy || !m->proxy->busy)
		coll_shared_wake(g->shared);
}

u64 coll_shm_ops(const struct coll_member *m)
{
	const struct coll_group *g = m->group;

	lockdep_assert_held(&g->lock);
	if (g->nr_nodes > 1)
		return m->node_ops;
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
		coll_shared_wake(g->shared);
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
		coll_shared_wake(g->shared);
	spin_unlock(&g->lock);
}

/*
 * Not in ->free: links may keep the group for long after this, and the file of the memory holds a
 * reference to the module.
 */
static void coll_shm_quiesce(struct coll_group *g)
{
	struct coll_shared *s;

	spin_lock(&g->lock);
	s = g->shared;
	g->shared = NULL;
	spin_unlock(&g->lock);
	coll_shared_put(s);
}

const struct coll_group_part coll_shm_part = {
	.left = coll_shm_left,
	.failing_locked = coll_shm_failing_locked,
	.fail = coll_shm_fail,
	.quiesce = coll_shm_quiesce,
};
