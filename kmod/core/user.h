/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users: work queues and limits that the communicators of one uid share. See coll_user_payer() for
 * user namespaces.
 *
 * Each user has work queues of its own. A work item that waits for something its user
 * controls (a socket lock, an mmap lock, a page that does not come) occupies a slot of
 * that user's queue only. The number of slots is limited, and so are groups, conns, and
 * kernel memory for bytes that a peer has sent early.
 *
 * Kernel threads belong to the root control group, so the time of workers is charged to no user. It
 * is counted here instead, for each CPU. A user that has spent its allowance on a CPU is still
 * served there, but at nice 19: its workers use the time that other tasks leave idle.
 *
 * Lifetime: each group and each conn hold a reference; memory that is kept pinned for a user holds
 * one, too (mem/pins_user.h). When the last reference is dropped, the release is armed to run a
 * second later, so that the next job of the user finds the queues. The release is a work item of
 * another queue, because it destroys the queues of the user.
 */
#ifndef COLL_CORE_USER_H
#define COLL_CORE_USER_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct cred;

/**
 * struct coll_user_cpu - time of a user's workers on one CPU, under coll_user.lock
 * @spent_ns: time that the allowance has not covered yet
 * @seen: jiffies when the allowance was last subtracted from @spent_ns
 */
struct coll_user_cpu {
	u64 spent_ns;
	unsigned long seen;
};

/**
 * struct coll_user - see the top of this file
 * @refs: groups, conns, and one for kept pins; coll_users_lock
 * @list: in coll_users; coll_users_lock
 * @dying: its queues are being destroyed; coll_users_lock
 * @uid: the user
 * @wq: progress of links, slices, local steps
 * @reap_wq: teardown of groups, which waits for work on @wq and for peers; and of kept pins
 *	and files, which waits for address spaces and progress threads
 * @groups: groups that have not been freed, also those without members
 * @conns: conns that have not been freed
 * @commands: commands in flight beyond COLL_INFLIGHT_FREE of each rank
 * @posts: commands of COLL_IOC_POST that have not been collected, beyond
 *	COLL_INFLIGHT_FREE of each file
 * @names: names of tensors
 * @early_bytes: kernel memory for frames and messages that came early
 * @lock: protects @cpus and @demoted
 * @cpus: time of its workers on each CPU
 * @demoted: workers at nice 19
 * @hurry: looks for workers at nice 19 that other threads wait for
 * @release: frees the user, if there is no new reference by then
 */
struct coll_user {
	u32 refs;
	struct list_head list;
	bool dying;
	kuid_t uid;
	struct workqueue_struct *wq;
	struct workqueue_struct *reap_wq;
	atomic_t groups;
	atomic_t conns;
	atomic_t commands;
	atomic_t posts;
	atomic_t names;
	atomic64_t early_bytes;
	spinlock_t lock;
	struct coll_user_cpu __percpu *cpus;
	struct list_head demoted;
	struct delayed_work hurry;
	struct delayed_work release;
};

/**
 * struct coll_worker - a work item of a user's queue that is running
 * @user: owner of the queue; valid until the item returns, because the queue is drained before the
 *	user is freed
 * @begin: nanoseconds when it began
 * @end: jiffies when it has to return and queue itself again
 * @moved: it has moved bytes. Its time is not over before that, so each run of an item makes
 *	progress, even if it looks for work for long.
 * @over: the user had spent its allowance on the CPU when it began
 * @task: its thread
 * @nice: niceness of the thread before the item began
 * @cpu: where it began; its time counts there
 * @failed: the error of its group, 0 as long as there is none; or NULL
 * @calls: bits; bit @call is set if control work waits for this item; or NULL
 * @call: see @calls
 * @list: in coll_user.demoted while it runs at nice 19, else empty; coll_user.lock
 */
struct coll_worker {
	struct coll_user *user;
	u64 begin;
	unsigned long end;
	bool moved;
	bool over;
	struct task_struct *task;
	int nice;
	int cpu;
	const int *failed;
	const unsigned long *calls;
	int call;
	struct list_head list;
};

/**
 * coll_user_payer() - the uid whose limits and queues apply to a task
 * @cred: of the task
 *
 * A user who makes a user namespace may have many uids in it (/etc/subuid). They share the limits
 * of that user, the owner of the outermost namespace that was not made by root. A namespace made by
 * root is a container with users of its own.
 *
 * Return: a uid for coll_user_get().
 */
kuid_t coll_user_payer(const struct cred *cred);

/**
 * coll_user_get() - the user of a uid, made if there is none
 * @uid: uid
 *
 * Return: the user, referenced; NULL if there is no memory. Sleeps.
 */
struct coll_user *coll_user_get(kuid_t uid);

/* Another reference, for a caller that has one. Sleeps. */
struct coll_user *coll_user_hold(struct coll_user *u);

/* Drop a reference. Sleeps. */
void coll_user_put(struct coll_user *u);

/* Count a group. Return: false at the limit (module parameter max_groups). */
bool coll_user_add_group(struct coll_user *u);

/* Count a conn. Return: false at the limit (module parameter max_conns). */
bool coll_user_add_conn(struct coll_user *u);

/* Count a command in flight. Return: false at the limit (module parameter max_inflight). */
bool coll_user_add_command(struct coll_user *u);

static inline void coll_user_drop_command(struct coll_user *u)
{
	atomic_dec(&u->commands);
}

/*
 * Count a command that has to be collected. Return: false at the limit (module parameter
 * max_inflight).
 */
bool coll_user_add_post(struct coll_user *u);

static inline void coll_user_drop_post(struct coll_user *u)
{
	atomic_dec(&u->posts);
}

/* Count a name of a tensor. Return: false at the limit (module parameter max_names). */
bool coll_user_add_name(struct coll_user *u);

static inline void coll_user_drop_name(struct coll_user *u)
{
	atomic_dec(&u->names);
}

/* Commands of one user in flight at most, beyond COLL_INFLIGHT_FREE of each rank. */
u32 coll_user_max_commands(void);

/**
 * struct coll_early - kernel memory of a group for frames and messages that came early
 * @user: of the group
 * @bytes: of @user's early_bytes
 */
struct coll_early {
	struct coll_user *user;
	atomic64_t bytes;
};

/*
 * Count @bytes of kernel memory for frames or messages that came early. @most is the limit for all
 * groups of the user: COLL_USER_EARLY, or COLL_USER_EARLY_FRAMES for frames, which can wait in the
 * socket. A group gets half of the memory that other groups have left, so that no group takes all.
 * Return: false at the limit.
 */
bool coll_early_charge(struct coll_early *e, u64 bytes, u64 most);

void coll_early_uncharge(struct coll_early *e, u64 bytes);

/**
 * coll_worker_begin() - a work item of @u's queue begins
 * @w: of the caller
 * @u: owner of the queue
 * @failed: the error of the group it works for, valid until coll_worker_end()
 *
 * Lowers the priority of the worker if the user has spent its allowance and the group has
 * not failed.
 */
void coll_worker_begin(struct coll_worker *w, struct coll_user *u, const int *failed);

/**
 * coll_worker_begin_control() - a work item begins with control work
 * @w: of the caller
 * @u: owner of the queue
 * @calls: a bit in it is set when control work waits for this item; valid until
 *	coll_worker_end()
 * @call: number of the bit
 *
 * Control work is bounded in bytes and time, and other threads wait for it. So it runs at normal
 * priority, whatever the user has spent. Call coll_worker_demote() before other work.
 */
void coll_worker_begin_control(struct coll_worker *w, struct coll_user *u,
			       const unsigned long *calls, int call);

/* Lower the priority if the user has spent its allowance: control work is over. */
void coll_worker_demote(struct coll_worker *w);

/* Back to normal priority: control work begins. */
void coll_worker_restore(struct coll_worker *w);

/**
 * coll_user_hurry() - restore the priority of workers that other threads wait for
 * @u: user
 *
 * These are workers whose group has failed, and workers whose bit in ->calls is set. A worker at
 * nice 19 may wait for a CPU for seconds, and hold locks or refs that delay the report of a
 * failure. With its priority back it ends soon: work for a failed group stops at the next slice,
 * and a worker that was called does control work next, and then lowers its priority again.
 */
void coll_user_hurry(struct coll_user *u);

/*
 * Call coll_user_hurry() after COLL_USER_HURRY, if that is still necessary: each frame of a peer
 * calls this, and most workers have seen their bit by then. From any context.
 */
void coll_user_hurry_soon(struct coll_user *u);

/**
 * coll_worker_end() - the work item is about to return
 * @w: from coll_worker_begin()
 *
 * Counts the time, and restores the priority of the worker.
 */
void coll_worker_end(struct coll_worker *w);

/* The item has moved a slice. NULL: a caller does the work. */
static inline void coll_worker_moved(struct coll_worker *w)
{
	if (w)
		w->moved = true;
}

/* Has the item run for so long that others should get the worker? NULL: a caller, never. */
static inline bool coll_worker_is_over(const struct coll_worker *w)
{
	return w && w->moved && time_after(jiffies, w->end);
}

int coll_user_init(void);

/* Waits until all users are freed. No file is open any more. */
void coll_user_exit(void);

#endif /* COLL_CORE_USER_H */
