// SPDX-License-Identifier: GPL-2.0
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "limits.h"
#include "worker.h"

static unsigned int worker_share = COLL_USER_SHARE;
module_param(worker_share, uint, 0644);
MODULE_PARM_DESC(worker_share, "percent of the time of each CPU that workers take for one user at normal priority, and as much again for control frames; beyond that at nice 19");

/* Time of workers on a CPU at normal priority in @ticks jiffies. */
static u64 coll_user_allowance(unsigned long ticks)
{
	u64 percent = min(READ_ONCE(worker_share), 100U);

	return percent * jiffies_to_nsecs(min_t(unsigned long, ticks, 10 * HZ)) / 100;
}

/* Subtract the allowances on a CPU since the last call. */
static void coll_user_settle_locked(struct coll_user *u, struct coll_user_cpu *c)
{
	unsigned long now = jiffies, ticks = now - c->seen;
	u64 allowance;

	lockdep_assert_held(&u->lock);
	if (!ticks)
		return;
	c->seen = now;
	allowance = coll_user_allowance(ticks);
	c->spent_ns -= min(c->spent_ns, allowance);
	c->control_ns -= min(c->control_ns, allowance);
}

/*
 * Have the workers of the user spent more on the CPU of @w than they are allowed, by more than a
 * short burst? @w counts as well.
 */
static void coll_worker_look_locked(struct coll_worker *w)
{
	struct coll_user *u = w->user;
	struct coll_user_cpu *c = per_cpu_ptr(u->cpus, w->cpu);
	u64 burst = coll_user_allowance(COLL_USER_BURST);

	lockdep_assert_held(&u->lock);
	if (w->nice >= MAX_NICE || READ_ONCE(worker_share) >= 100) {
		w->over = false;
		w->control_over = false;
		return;
	}
	coll_user_settle_locked(u, c);
	w->looked = jiffies;
	w->over = c->spent_ns + ktime_get_ns() - w->begin >= burst;
	w->control_over = c->control_ns + w->control_ns >= burst;
}

/* Start or stop the clock of control work. */
static void coll_worker_clock_locked(struct coll_worker *w, bool run)
{
	u64 now = ktime_get_ns();

	lockdep_assert_held(&w->user->lock);
	if (w->since)
		w->control_ns += now - w->since;
	w->since = run ? now : 0;
}

static void coll_worker_restore_locked(struct coll_worker *w)
{
	lockdep_assert_held(&w->user->lock);
	coll_worker_clock_locked(w, w->control);
	if (list_empty(&w->list))
		return;
	list_del_init(&w->list);
	set_user_nice(w->task, w->nice);
}

/* If the group fails after this, coll_user_hurry() finds this worker in the list. */
static void coll_worker_demote_locked(struct coll_worker *w)
{
	lockdep_assert_held(&w->user->lock);
	coll_worker_clock_locked(w, false);
	if (!list_empty(&w->list) || (w->failed && READ_ONCE(*w->failed)))
		return;
	list_add(&w->list, &w->user->demoted);
	set_user_nice(w->task, MAX_NICE);
}

static bool coll_worker_called(const struct coll_worker *w, unsigned long by)
{
	return w->calls && READ_ONCE(*w->calls) & by;
}

/*
 * May this worker leave nice 19, because another thread waits for it? Yes if its group has failed,
 * or for ->own_calls. For control frames only as long as its allowance lasts; otherwise *@waits is
 * set.
 */
static bool coll_worker_may_hurry_locked(struct coll_worker *w, bool *waits)
{
	lockdep_assert_held(&w->user->lock);
	if ((w->failed && READ_ONCE(*w->failed)) || coll_worker_called(w, w->own_calls))
		return true;
	if (!w->control && !coll_worker_called(w, w->peer_calls))
		return false;
	coll_worker_look_locked(w);
	*waits |= w->control_over;
	return !w->control_over;
}

bool coll_user_hurry(struct coll_user *u)
{
	struct coll_worker *w, *next;
	bool waits = false;

	spin_lock(&u->lock);
	list_for_each_entry_safe(w, next, &u->demoted, list) {
		if (!coll_worker_may_hurry_locked(w, &waits))
			continue;
		/* What it does until the control work begins counts as control work. */
		w->control = !!w->calls;
		coll_worker_restore_locked(w);
	}
	spin_unlock(&u->lock);
	return waits;
}

void coll_user_hurry_work(struct work_struct *work)
{
	struct coll_user *u = container_of(to_delayed_work(work), struct coll_user, hurry);

	if (coll_user_hurry(u))
		queue_delayed_work(coll_users_wq, &u->hurry, COLL_USER_HURRY);
}

void coll_user_hurry_soon(struct coll_user *u)
{
	/* pairs with coll_worker_lowered() */
	smp_mb();
	/* A racy check. The caller has set the bit before. */
	if (!list_empty(&u->demoted) && !delayed_work_pending(&u->hurry))
		queue_delayed_work(coll_users_wq, &u->hurry, COLL_USER_HURRY);
}

/* @w may have joined the list of workers at nice 19, before work that is @control or not. */
static void coll_worker_lowered(const struct coll_worker *w, bool control)
{
	/* pairs with coll_user_hurry_soon(): we see the call, or it sees us in the list */
	smp_mb();
	if (control || coll_worker_called(w, w->peer_calls | w->own_calls))
		coll_user_hurry_soon(w->user);
}

static void coll_worker_init(struct coll_worker *w, struct coll_user *u)
{
	*w = (struct coll_worker){
		.user = u,
		.begin = ktime_get_ns(),
		.end = jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1,
		.looked = jiffies - 1,
		.task = current,
		.nice = task_nice(current),
		.cpu = raw_smp_processor_id(),
	};
	INIT_LIST_HEAD(&w->list);
}

/* Set the priority for control work, or for other work. */
static void coll_worker_turn(struct coll_worker *w, bool control, bool own)
{
	bool lower;

	spin_lock(&w->user->lock);
	if (time_after(jiffies, w->looked))
		coll_worker_look_locked(w);
	w->control = control;
	lower = control ? w->control_over && !own : w->over;
	if (lower)
		coll_worker_demote_locked(w);
	else
		coll_worker_restore_locked(w);
	spin_unlock(&w->user->lock);
	if (lower)
		coll_worker_lowered(w, control);
}

void coll_worker_begin(struct coll_worker *w, struct coll_user *u, const int *failed)
{
	coll_worker_init(w, u);
	w->failed = failed;
	coll_worker_turn(w, false, false);
}

void coll_worker_begin_control(struct coll_worker *w, struct coll_user *u,
			       const unsigned long *calls, unsigned long peer_calls,
			       unsigned long own_calls)
{
	coll_worker_init(w, u);
	w->calls = calls;
	w->peer_calls = peer_calls;
	w->own_calls = own_calls;
	/* The clock does not run yet: the item may have to wait for a lock. */
	spin_lock(&u->lock);
	coll_worker_look_locked(w);
	w->control = true;
	if (w->control_over && !coll_worker_called(w, own_calls))
		coll_worker_demote_locked(w);
	spin_unlock(&u->lock);
	coll_worker_lowered(w, true);
}

void coll_worker_control(struct coll_worker *w, bool own)
{
	coll_worker_turn(w, true, own);
}

void coll_worker_demote(struct coll_worker *w)
{
	coll_worker_turn(w, false, false);
}

void coll_worker_end(struct coll_worker *w)
{
	struct coll_user *u = w->user;
	struct coll_user_cpu *c = per_cpu_ptr(u->cpus, w->cpu);
	u64 ns = ktime_get_ns() - w->begin, debt = coll_user_allowance(COLL_USER_DEBT);

	spin_lock(&u->lock);
	w->control = false;
	coll_worker_restore_locked(w);
	coll_user_settle_locked(u, c);
	/* A worker at nice 19 may have been preempted for long: the debt has a limit. */
	c->spent_ns = min(c->spent_ns + ns, debt);
	c->control_ns = min(c->control_ns + w->control_ns, debt);
	spin_unlock(&u->lock);
}
