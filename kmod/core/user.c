// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>

#include "limits.h"
#include "user.h"
#include "worker.h"

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

/* Protects coll_users, and fields that name it. Allocate no memory charged to a user under it. */
static DEFINE_MUTEX(coll_users_lock);
static LIST_HEAD(coll_users);
/* Numbers of users that have been made and freed. Also read without the lock. */
static u32 coll_users_made;
static u32 coll_users_freed;
static DECLARE_WAIT_QUEUE_HEAD(coll_users_gone);
struct workqueue_struct *coll_users_wq;
/* The module is unloaded: do not wait for a next job. Under the lock. */
static bool coll_users_exiting;

/*
 * No group, conn, closing file or kept pin is left. So only the last instructions of work items are
 * still to run: destroying the queues does not wait for anything that the user controls. The user
 * stays in the list meanwhile, because the names of queues in sysfs are unique.
 */
static void coll_user_release(struct work_struct *work)
{
	struct coll_user *u = container_of(to_delayed_work(work), struct coll_user, release);
	bool dying;

	mutex_lock(&coll_users_lock);
	/* Meanwhile a next job may have come and gone, and have armed the release again. */
	u->dying = !u->refs && !delayed_work_pending(&u->release);
	dying = u->dying;
	mutex_unlock(&coll_users_lock);
	if (!dying)
		return;
	destroy_workqueue(u->wq);
	destroy_workqueue(u->reap_wq);
	destroy_workqueue(u->end_wq);
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
	bool last;

	mutex_lock(&coll_users_lock);
	last = !--u->refs;
	if (last)
		coll_user_arm_release_locked(u);
	mutex_unlock(&coll_users_lock);
	/*
	 * This code stays until the caller has returned: callers are work items of the user's
	 * queues, for which unloading waits, or calls of a file, which holds the module.
	 */
	if (last)
		module_put(THIS_MODULE);
}

struct coll_user *coll_user_hold(struct coll_user *u)
{
	mutex_lock(&coll_users_lock);
	u->refs++;
	mutex_unlock(&coll_users_lock);
	return u;
}

static struct coll_user *coll_user_alloc(kuid_t uid)
{
	int slots = max_t(int, COLL_USER_WORKERS, num_possible_cpus());
	struct coll_user *u = kzalloc(sizeof(*u), GFP_KERNEL);

	if (!u)
		return NULL;
	u->uid = uid;
	spin_lock_init(&u->lock);
	ratelimit_state_init(&u->stall_lines, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
	ratelimit_state_init(&u->stall_events, DEFAULT_RATELIMIT_INTERVAL, COLL_STALL_EVENTS);
	/* Silent: the log has lines of its own about these tensors. */
	ratelimit_set_flags(&u->stall_events, RATELIMIT_MSG_ON_RELEASE);
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
	u->end_wq = alloc_workqueue("coll_end-%u", WQ_UNBOUND, slots,
				    from_kuid(&init_user_ns, uid));
	if (u->cpus && u->wq && u->reap_wq && u->end_wq)
		return u;
	if (u->wq)
		destroy_workqueue(u->wq);
	if (u->reap_wq)
		destroy_workqueue(u->reap_wq);
	if (u->end_wq)
		destroy_workqueue(u->end_wq);
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
		/* A group may outlive its files. The caller has a reference to the module. */
		if (u && !dying && !u->refs++)
			__module_get(THIS_MODULE);
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
