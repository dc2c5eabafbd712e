/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Workers: work items of the queues of users (user.h), and the time that they may take.
 *
 * Kernel threads belong to the root control group, so the time of workers is charged to no user. It
 * is counted here instead, for each CPU. A user that has spent its allowance on a CPU is still
 * served there, but at nice 19: its workers use the time that other tasks leave idle.
 *
 * Control work is what other threads and other nodes wait for: control frames of links. It is
 * counted apart as well, and has an allowance of its own, so that the data of a user does not delay
 * its control frames. A user whose process plays the peer can send control frames without end.
 */
#ifndef COLL_CORE_WORKER_H
#define COLL_CORE_WORKER_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/types.h>

#include "user.h"

struct work_struct;

/**
 * struct coll_worker - a work item of a user's queue that is running
 * @user: owner of the queue; valid until the item returns, because the queue is drained before the
 *	user is freed
 * @begin: nanoseconds when it began
 * @end: jiffies when it has to return and queue itself again
 * @moved: it has moved bytes. Its time is not over before that, so each run of an item makes
 *	progress, even if it looks for work for long.
 * @looked: jiffies when @over and @control_over were last set; coll_user.lock, like all below
 *	that can change
 * @over: the user has spent its allowance on the CPU
 * @control_over: the user has spent its allowance for control work on the CPU
 * @task: its thread
 * @nice: niceness of the thread before the item began
 * @cpu: where it began; its time counts there
 * @failed: the error of its group, 0 as long as there is none; or NULL
 * @calls: bits that say what waits for this item; or NULL
 * @peer_calls: bits of @calls: there may be control frames to read or to send
 * @own_calls: bits of @calls: a group of this node has failed, or a rank of it has left
 * @control: it does control work, or another thread has restored its priority for that
 * @since: nanoseconds when it began control work at normal priority; 0: it does none
 * @control_ns: time of control work at normal priority before @since
 * @list: in coll_user.demoted while it runs at nice 19, else empty
 */
struct coll_worker {
	struct coll_user *user;
	u64 begin;
	unsigned long end;
	bool moved;
	unsigned long looked;
	bool over;
	bool control_over;
	struct task_struct *task;
	int nice;
	int cpu;
	const int *failed;
	const unsigned long *calls;
	unsigned long peer_calls;
	unsigned long own_calls;
	bool control;
	u64 since;
	u64 control_ns;
	struct list_head list;
};

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
 * @calls: bits that other threads set when they wait for this item; valid until
 *	coll_worker_end()
 * @peer_calls: as in struct coll_worker
 * @own_calls: as in struct coll_worker
 *
 * Sets the priority as coll_worker_control() does. No time counts as control work before that is
 * called.
 */
void coll_worker_begin_control(struct coll_worker *w, struct coll_user *u,
			       const unsigned long *calls, unsigned long peer_calls,
			       unsigned long own_calls);

/**
 * coll_worker_control() - control work begins
 * @w: from coll_worker_begin_control()
 * @own: a group has failed, or a rank has left, which other nodes have to learn
 *
 * Control work of one item is bounded in bytes and time, and other threads wait for it. So it has
 * normal priority as long as the user has not spent its allowance for control work on the CPU. With
 * @own it always has normal priority; call this again, without @own, when these frames have been
 * sent. Call coll_worker_demote() before other work.
 */
void coll_worker_control(struct coll_worker *w, bool own);

/* Other work begins: lower the priority if the user has spent its allowance, else restore it. */
void coll_worker_demote(struct coll_worker *w);

/**
 * coll_user_hurry() - restore the priority of workers that other threads wait for
 * @u: user
 *
 * These are workers whose group has failed, and workers that are called. A worker that only a peer
 * calls counts as long as the user has not spent its allowance for control work. A worker at nice
 * 19 may wait for a CPU for seconds, and hold locks or refs that delay the report of a failure.
 * With its priority back it ends soon: work for a failed group stops at the next slice, and a
 * worker that was called does control work next, and then lowers its priority again.
 *
 * Return: true: a worker that is called stays at nice 19. Try again later.
 */
bool coll_user_hurry(struct coll_user *u);

/*
 * Call coll_user_hurry() after COLL_USER_HURRY, if that is still necessary: each frame of a peer
 * calls this, and most workers have seen their bit by then. From any context.
 */
void coll_user_hurry_soon(struct coll_user *u);

/* Function of coll_user.hurry. */
void coll_user_hurry_work(struct work_struct *work);

/**
 * coll_worker_end() - the work item is about to return
 * @w: from coll_worker_begin()
 *
 * Counts the time, and restores the priority of the worker.
 */
void coll_worker_end(struct coll_worker *w);

/*
 * A caller that helps until @end, in jiffies, and does one slice at least. It is not a work item, so
 * no other field is set.
 */
static inline struct coll_worker coll_worker_until(unsigned long end)
{
	return (struct coll_worker){ .end = end };
}

/* The item has moved a slice. NULL: a caller does the work. */
static inline void coll_worker_moved(struct coll_worker *w)
{
	if (w)
		w->moved = true;
}

/* Is the time of the item over? NULL: a caller, never. */
static inline bool coll_worker_is_late(const struct coll_worker *w)
{
	return w && time_after(jiffies, w->end);
}

/* The same, for an item that goes on until it has moved a slice. */
static inline bool coll_worker_is_over(const struct coll_worker *w)
{
	return coll_worker_is_late(w) && w->moved;
}

#endif /* COLL_CORE_WORKER_H */
