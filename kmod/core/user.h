/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users: what the communicators of one uid share.
 *
 * Each user has work queues of its own. A work item that waits for something its user
 * controls (a socket lock, an mmap lock, a page that does not come) occupies a slot of
 * that user's queue only. The number of slots is limited, and so are groups, conns, and
 * kernel memory for bytes that a peer has sent early.
 *
 * Kernel threads belong to the root control group, so the time of workers is charged to
 * nobody. It is counted here instead. A user that has spent its allowance is still
 * served, but at nice 19: its workers take what other tasks leave idle.
 *
 * Lifetime: a group and a conn hold a reference each. The last one arms the release, a
 * second later: the next job of the user finds the queues there. The release is a work
 * item of another queue, because it destroys these.
 */
#ifndef COLL_CORE_USER_H
#define COLL_CORE_USER_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

/**
 * struct coll_user - see the top of this file
 * @refs: groups and conns; coll_users_lock
 * @list: in coll_users; coll_users_lock
 * @dying: its queues are being destroyed; coll_users_lock
 * @uid: whose
 * @wq: progress of links, slices, local steps
 * @reap_wq: teardown of groups, which waits for work on @wq and for peers
 * @groups: groups that have not been freed, also those without members
 * @conns: conns that have not been freed
 * @commands: commands in flight beyond COLL_INFLIGHT_FREE of each rank
 * @posts: commands of COLL_IOC_POST that have not been collected, beyond
 *	COLL_INFLIGHT_FREE of each file
 * @names: names of tensors
 * @early_bytes: kernel memory for frames and messages that came early
 * @lock: protects the next two
 * @spent_ns: time of workers beyond what the allowance has covered
 * @seen: jiffies when the allowance was last subtracted from @spent_ns
 * @release: frees the user, if nobody has come back to it
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
	u64 spent_ns;
	unsigned long seen;
	struct delayed_work release;
};

/**
 * struct coll_worker - a work item of a user's queue that is running
 * @user: whose; valid until the item returns, for the queue is drained before the user
 *	is freed
 * @begin: nanoseconds when it began
 * @end: jiffies when it has to return and queue itself again
 * @moved: it has moved bytes: each run of an item makes progress, however long it looks
 *	for what it can do
 * @demoted: it runs at nice 19
 * @nice: of the worker thread before
 */
struct coll_worker {
	struct coll_user *user;
	u64 begin;
	unsigned long end;
	bool moved;
	bool demoted;
	int nice;
};

/**
 * coll_user_get() - the user of a uid, made if there is none
 * @uid: uid
 *
 * Return: the user, referenced; NULL without memory. Sleeps.
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

/* Count @bytes of kernel memory for what came early. Return: false at the limit. */
bool coll_user_charge_early(struct coll_user *u, u64 bytes);

static inline void coll_user_uncharge_early(struct coll_user *u, u64 bytes)
{
	atomic64_sub(bytes, &u->early_bytes);
}

/**
 * coll_worker_begin() - a work item of @u's queue begins
 * @w: of the caller
 * @u: whose queue it is on
 *
 * Lowers the priority of the worker if the user has spent its allowance.
 */
void coll_worker_begin(struct coll_worker *w, struct coll_user *u);

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
