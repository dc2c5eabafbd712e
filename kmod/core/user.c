// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>

#include "limits.h"
#include "user.h"

static unsigned int max_groups = COLL_USER_GROUPS;
module_param(max_groups, uint, 0644);
MODULE_PARM_DESC(max_groups, "communicators of one user, counted until they are freed");

static unsigned int max_conns = COLL_USER_CONNS;
module_param(max_conns, uint, 0644);
MODULE_PARM_DESC(max_conns, "connections of one user, of two sockets each, counted until they are freed");

static unsigned int max_inflight = COLL_USER_COMMANDS;
module_param(max_inflight, uint, 0644);
MODULE_PARM_DESC(max_inflight, "commands of one user in flight, beyond the first 64 of each rank");

static unsigned int max_names = COLL_USER_NAMES;
module_param(max_names, uint, 0644);
MODULE_PARM_DESC(max_names, "names of tensors of one user, counted until their communicator is freed");

static unsigned int worker_share = COLL_USER_SHARE;
module_param(worker_share, uint, 0644);
MODULE_PARM_DESC(worker_share, "percent of the time of each CPU that workers take for one user at normal priority; beyond that at nice 19");

/* Protects coll_users, and fields as they say. Never allocate memory charged to a user under it. */
static DEFINE_MUTEX(coll_users_lock);
static LIST_HEAD(coll_users);
/* Numbers of users that have been made and freed. Also read without the lock. */
static u32 coll_users_made;
static u32 coll_users_freed;
static DECLARE_WAIT_QUEUE_HEAD(coll_users_gone);
static struct workqueue_struct *coll_users_wq;
/* The module is unloaded: do not wait for a next job. Under the lock. */
static bool coll_users_exiting;

/*
 * No group, no conn and no kept pin is left. So only the last instructions of work items are still
 * to run: destroying the queues does not wait for anything that the user controls. The user stays
 * in the list meanwhile, because the names of queues in sysfs are unique.
 */
static void coll_user_release(struct work_struct *work)
{
	struct coll_user *u = container_of(to_delayed_work(work), struct coll_user, release);
	bool dying;

	mutex_lock(&coll_users_lock);
	/* While this waited for the lock, a next job may have come, gone, and armed it again. */
	u->dying = !u->refs && !delayed_work_pending(&u->release);
	dying = u->dying;
	mutex_unlock(&coll_users_lock);
	if (!dying)
		return;
	destroy_workqueue(u->wq);
	destroy_workqueue(u->reap_wq);
	/* No worker of this user is left that could arm @hurry again. */
	cancel_delayed_work_sync(&u->hurry);
	mutex_lock(&coll_users_lock);
	list_del(&u->list);
	WRITE_ONCE(coll_users_freed, coll_users_freed + 1);
	mutex_unlock(&coll_users_lock);
	wake_up_all(&coll_users_gone);
	free_percpu(u->cpus);
	kfree(u);
}

static void coll_user_arm_release_locked(struct coll_user *u)
{
	lockdep_assert_held(&coll_users_lock);
	mod_delayed_work(coll_users_wq, &u->release, coll_users_exiting ? 0 : HZ);
}

void coll_user_put(struct coll_user *u)
{
	mutex_lock(&coll_users_lock);
	if (!--u->refs)
		coll_user_arm_release_locked(u);
	mutex_unlock(&coll_users_lock);
}

struct coll_user *coll_user_hold(struct coll_user *u)
{
	mutex_lock(&coll_users_lock);
	u->refs++;
	mutex_unlock(&coll_users_lock);
	return u;
}

static void coll_worker_restore_locked(struct coll_worker *w)
{
	lockdep_assert_held(&w->user->lock);
	if (list_empty(&w->list))
		return;
	list_del_init(&w->list);
	set_user_nice(w->task, w->nice);
}

void coll_user_hurry(struct coll_user *u)
{
	struct coll_worker *w, *next;

	spin_lock(&u->lock);
	list_for_each_entry_safe(w, next, &u->demoted, list)
		if ((w->failed && READ_ONCE(*w->failed)) ||
		    (w->calls && test_bit(w->call, w->calls)))
			coll_worker_restore_locked(w);
	spin_unlock(&u->lock);
}

static void coll_user_hurry_work(struct work_struct *work)
{
	coll_user_hurry(container_of(to_delayed_work(work), struct coll_user, hurry));
}

static struct coll_user *coll_user_alloc(kuid_t uid)
{
	int slots = max_t(int, COLL_USER_WORKERS, num_possible_cpus());
	struct coll_user *u = kzalloc(sizeof(*u), GFP_KERNEL);

	if (!u)
		return NULL;
	u->uid = uid;
	spin_lock_init(&u->lock);
	INIT_LIST_HEAD(&u->demoted);
	INIT_DELAYED_WORK(&u->hurry, coll_user_hurry_work);
	INIT_DELAYED_WORK(&u->release, coll_user_release);
	/*
	 * WQ_SYSFS: an administrator may keep workers off some CPUs. Workers have the niceness
	 * of ranks: a rank that is woken by a worker of higher priority could not go on before
	 * the op is over.
	 */
	u->cpus = alloc_percpu(struct coll_user_cpu);
	u->wq = alloc_workqueue("coll-%u", WQ_UNBOUND | WQ_SYSFS, slots,
				from_kuid(&init_user_ns, uid));
	u->reap_wq = alloc_workqueue("coll_reap-%u", WQ_UNBOUND, slots,
				     from_kuid(&init_user_ns, uid));
	if (u->cpus && u->wq && u->reap_wq)
		return u;
	if (u->wq)
		destroy_workqueue(u->wq);
	if (u->reap_wq)
		destroy_workqueue(u->reap_wq);
	free_percpu(u->cpus);
	kfree(u);
	return NULL;
}

static struct coll_user *coll_user_find_locked(kuid_t uid)
{
	struct coll_user *u;

	lockdep_assert_held(&coll_users_lock);
	list_for_each_entry(u, &coll_users, list)
		if (uid_eq(u->uid, uid))
			return u;
	u = coll_user_alloc(uid);
	if (u) {
		list_add(&u->list, &coll_users);
		WRITE_ONCE(coll_users_made, coll_users_made + 1);
	}
	return u;
}

kuid_t coll_user_payer(const struct cred *cred)
{
	const struct user_namespace *ns;
	kuid_t payer = cred->euid;

	/* The outermost namespace decides, so go on to the end. */
	for (ns = cred->user_ns; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			payer = ns->owner;
	return payer;
}

struct coll_user *coll_user_get(kuid_t uid)
{
	struct coll_user *u;
	bool dying;
	u32 freed;

	do {
		mutex_lock(&coll_users_lock);
		freed = coll_users_freed;
		u = coll_user_find_locked(uid);
		dying = u && u->dying;
		if (u && !dying)
			u->refs++;
		mutex_unlock(&coll_users_lock);
		/* This waits until the last work items of the user's last job have returned. */
		if (dying)
			wait_event(coll_users_gone, READ_ONCE(coll_users_freed) != freed);
	} while (dying);
	return u;
}

static bool coll_user_add(atomic_t *count, unsigned int most)
{
	if (atomic_inc_return(count) <= most)
		return true;
	atomic_dec(count);
	return false;
}

bool coll_user_add_group(struct coll_user *u)
{
	return coll_user_add(&u->groups, min(READ_ONCE(max_groups), (unsigned int)INT_MAX / 2));
}

bool coll_user_add_conn(struct coll_user *u)
{
	return coll_user_add(&u->conns, min(READ_ONCE(max_conns), (unsigned int)INT_MAX / 2));
}

u32 coll_user_max_commands(void)
{
	return min(READ_ONCE(max_inflight), (unsigned int)INT_MAX / 2);
}

bool coll_user_add_command(struct coll_user *u)
{
	return coll_user_add(&u->commands, coll_user_max_commands());
}

bool coll_user_add_post(struct coll_user *u)
{
	return coll_user_add(&u->posts, coll_user_max_commands());
}

bool coll_user_add_name(struct coll_user *u)
{
	return coll_user_add(&u->names, min(READ_ONCE(max_names), (unsigned int)INT_MAX / 2));
}

bool coll_early_charge(struct coll_early *e, u64 bytes, u64 most)
{
	s64 mine = atomic64_add_return(bytes, &e->bytes);
	s64 all = atomic64_add_return(bytes, &e->user->early_bytes);

	/* Racy: other groups may charge at the same time, so the limit is not exact. */
	if (all <= most && 2 * mine <= most - (all - mine))
		return true;
	coll_early_uncharge(e, bytes);
	return false;
}

void coll_early_uncharge(struct coll_early *e, u64 bytes)
{
	atomic64_sub(bytes, &e->user->early_bytes);
	atomic64_sub(bytes, &e->bytes);
}

/* Time of workers on a CPU at normal priority in @ticks jiffies. */
static u64 coll_user_allowance(unsigned long ticks)
{
	u64 percent = min(READ_ONCE(worker_share), 100U);

	return percent * jiffies_to_nsecs(min_t(unsigned long, ticks, 10 * HZ)) / 100;
}

/* Subtract the allowance on a CPU since the last call. */
static void coll_user_settle_locked(struct coll_user *u, struct coll_user_cpu *c)
{
	unsigned long now = jiffies, ticks = now - c->seen;

	lockdep_assert_held(&u->lock);
	if (!ticks)
		return;
	c->seen = now;
	c->spent_ns -= min(c->spent_ns, coll_user_allowance(ticks));
}

/* Have its workers spent more on this CPU than they are allowed, by more than a short burst? */
static bool coll_user_is_over(struct coll_user *u, int cpu)
{
	struct coll_user_cpu *c = per_cpu_ptr(u->cpus, cpu);
	bool over;

	if (READ_ONCE(worker_share) >= 100)
		return false;
	spin_lock(&u->lock);
	coll_user_settle_locked(u, c);
	over = c->spent_ns > coll_user_allowance(COLL_USER_BURST);
	spin_unlock(&u->lock);
	return over;
}

static void coll_worker_init(struct coll_worker *w, struct coll_user *u)
{
	*w = (struct coll_worker){
		.user = u,
		.begin = ktime_get_ns(),
		.end = jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1,
		.task = current,
		.nice = task_nice(current),
		.cpu = raw_smp_processor_id(),
	};
	w->over = w->nice < MAX_NICE && coll_user_is_over(u, w->cpu);
	INIT_LIST_HEAD(&w->list);
}

void coll_worker_begin(struct coll_worker *w, struct coll_user *u, const int *failed)
{
	coll_worker_init(w, u);
	w->failed = failed;
	coll_worker_demote(w);
}

void coll_worker_begin_control(struct coll_worker *w, struct coll_user *u,
			       const unsigned long *calls, int call)
{
	coll_worker_init(w, u);
	w->calls = calls;
	w->call = call;
}

void coll_worker_demote(struct coll_worker *w)
{
	struct coll_user *u = w->user;
	bool called;

	if (!w->over)
		return;
	spin_lock(&u->lock);
	/* If the group fails after this, coll_user_hurry() finds this worker in the list. */
	if (list_empty(&w->list) && !(w->failed && READ_ONCE(*w->failed))) {
		list_add(&w->list, &u->demoted);
		set_user_nice(current, MAX_NICE);
	}
	spin_unlock(&u->lock);
	/* pairs with coll_user_hurry_soon(): we see the call, or it sees us in the list */
	smp_mb();
	called = w->calls && test_bit(w->call, w->calls);
	if (called)
		coll_user_hurry_soon(u);
}

void coll_worker_restore(struct coll_worker *w)
{
	if (!w->over)
		return;
	spin_lock(&w->user->lock);
	coll_worker_restore_locked(w);
	spin_unlock(&w->user->lock);
}

void coll_user_hurry_soon(struct coll_user *u)
{
	/* pairs with coll_worker_demote() */
	smp_mb();
	/* A racy check. The caller has set the bit before. */
	if (!list_empty(&u->demoted) && !delayed_work_pending(&u->hurry))
		queue_delayed_work(coll_users_wq, &u->hurry, COLL_USER_HURRY);
}

void coll_worker_end(struct coll_worker *w)
{
	struct coll_user *u = w->user;
	struct coll_user_cpu *c = per_cpu_ptr(u->cpus, w->cpu);
	u64 ns = ktime_get_ns() - w->begin;

	spin_lock(&u->lock);
	coll_worker_restore_locked(w);
	coll_user_settle_locked(u, c);
	/* A demoted worker may have been preempted for long: the debt has a limit. */
	c->spent_ns = min(c->spent_ns + ns, coll_user_allowance(COLL_USER_DEBT));
	spin_unlock(&u->lock);
}

int coll_user_init(void)
{
	coll_users_wq = alloc_workqueue("coll_users", WQ_UNBOUND, 0);
	return coll_users_wq ? 0 : -ENOMEM;
}

void coll_user_exit(void)
{
	struct coll_user *u;

	mutex_lock(&coll_users_lock);
	coll_users_exiting = true;
	list_for_each_entry(u, &coll_users, list)
		if (!u->refs && !u->dying)
			coll_user_arm_release_locked(u);
	mutex_unlock(&coll_users_lock);
	wait_event(coll_users_gone,
		   READ_ONCE(coll_users_freed) == READ_ONCE(coll_users_made));
	destroy_workqueue(coll_users_wq);
}
