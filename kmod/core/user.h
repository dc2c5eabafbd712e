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
 * is counted here instead, for each CPU; see worker.h.
 *
 * Lifetime: each group, each conn, and each file that a work item closes hold a reference; memory
 * that is kept pinned for a user holds one, too (mem/pins_user.h). While there are references the
 * user holds the module, so that rmmod does not wait for what a user can delay. When the last
 * reference is dropped, the release is armed to run a second later, so that the next job of the
 * user finds the queues. The release is a work item of another queue, because it destroys the
 * queues of the user.
 */
#ifndef COLL_CORE_USER_H
#define COLL_CORE_USER_H

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

struct cred;

/**
 * struct coll_user_cpu - time of a user's workers on one CPU, under coll_user.lock
 * @spent_ns: time that the allowance has not covered yet
 * @control_ns: of control work at normal priority: time that its allowance has not covered yet
 * @seen: jiffies when the allowances were last subtracted
 */
struct coll_user_cpu {
	u64 spent_ns;
	u64 control_ns;
	unsigned long seen;
};

/**
 * struct coll_user - see the top of this file
 * @refs: groups, conns, closing files, and one for kept pins; coll_users_lock
 * @list: in coll_users; coll_users_lock
 * @dying: its queues are being destroyed; coll_users_lock
 * @uid: the user
 * @wq: progress of links, slices, local steps
 * @reap_wq: teardown of groups, which waits for work on @wq and for peers; and of kept pins
 *	and files, which waits for address spaces and progress threads
 * @end_wq: ends what was in flight when a group failed, and what waits for a rank that has left.
 *	Its items wait for no lock that a user can hold for long, but there may be very many
 * @groups: groups that have not been freed, also those without members
 * @conns: conns that have not been freed
 * @polled: conns that a worker or a caller polls. If these use all CPUs, data waits for callers.
 * @commands: commands in flight beyond COLL_INFLIGHT_FREE of each rank
 * @posts: commands of COLL_IOC_POST that have not been collected, beyond
 *	COLL_INFLIGHT_FREE of each file
 * @names: names of tensors
 * @early_bytes: kernel memory for frames and messages that came early
 * @stall_lines: limits the log lines about stalled tensors
 * @stall_events: limits the stalled tensors that are reported to netlink
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
	struct workqueue_struct *end_wq;
	atomic_t groups;
	atomic_t conns;
	atomic_t polled;
	atomic_t commands;
	atomic_t posts;
	atomic_t names;
	atomic64_t early_bytes;
	struct ratelimit_state stall_lines;
	struct ratelimit_state stall_events;
	spinlock_t lock;
	struct coll_user_cpu __percpu *cpus;
	struct list_head demoted;
	struct delayed_work hurry;
	struct delayed_work release;
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
 * @bytes: part of @user's early_bytes
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

/* Runs what may not wait for the queues of users. */
extern struct workqueue_struct *coll_users_wq;

int coll_user_init(void);

/* Waits until all users are freed. No file is open any more. */
void coll_user_exit(void);

#endif /* COLL_CORE_USER_H */
