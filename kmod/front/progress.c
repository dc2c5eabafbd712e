// SPDX-License-Identifier: GPL-2.0
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "../compat.h"
#include "../core/exec/helper.h"
#include "../core/exec/sleeper.h"
#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/op/op_run.h"
#include "../core/worker.h"
#include "end.h"
#include "file.h"
#include "progress.h"

#if COLL_HAS_USER_THREADS

/* Jiffies until the next attempt to make a thread. */
#define COLL_PROGRESS_AGAIN	HZ
/* A thread that does not stop within so many jiffies has been stopped, traced or frozen. */
#define COLL_PROGRESS_STOP	(HZ / 10 + 1)

/**
 * struct coll_progress - a progress thread, see progress.h
 * @cf: its file, which outlives it
 * @member: member of @cf
 * @thread: the thread, which the kernel has made
 * @sleeper: where it sleeps; @sleeper.task is set, with a reference, when the thread has begun
 * @watcher: it attends to the links of the group while @watching
 * @lock: protects @pending to @helping, and @sleeper.away
 * @pending: number of collectives and waits in flight that rely on it
 * @idle: @pending is 0; may be read without the lock
 * @watching: see @watcher; written by the thread, and by the task that raises @pending from 0 to 1
 * @helping: the thread works on a large sweep, and attends to the links again after it
 * @stop: the file is being released; no lock
 * @stand_in: helps in place of the thread when the thread had to go
 * @over: the thread does nothing more: it has been killed, or has seen @stop; no lock
 *
 * Owner: the file. While it is away (it has not begun, a signal has stopped it, or it is dead)
 * workers have the links and are queued for slices.
 */
struct coll_progress {
	struct coll_file *cf;
	struct coll_member *member;
	struct vhost_task *thread;
	struct coll_sleeper sleeper;
	struct coll_watcher watcher;
	spinlock_t lock;
	u32 pending;
	bool idle;
	bool watching;
	bool helping;
	bool stop;
	bool over;
	struct work_struct stand_in;
};

static void coll_progress_watch_locked(struct coll_progress *p)
{
	lockdep_assert_held(&p->lock);
	if (p->watching || p->idle || p->helping || p->sleeper.away)
		return;
	coll_links_watch(coll_member_group(p->member), &p->watcher);
	p->watching = true;
	/* Take no more jobs; the thread still does a job that it was given before. */
	if (p->watcher.got)
		WRITE_ONCE(p->sleeper.idle, false);
}

static void coll_progress_unwatch_locked(struct coll_progress *p)
{
	lockdep_assert_held(&p->lock);
	if (p->watching)
		coll_links_unwatch(coll_member_group(p->member), &p->watcher);
	p->watching = false;
}

/* The thread begins, or comes back. */
static void coll_progress_come(struct coll_progress *p)
{
	spin_lock(&p->lock);
	if (!p->sleeper.task)
		p->sleeper.task = get_task_struct(current);
	WRITE_ONCE(p->sleeper.away, false);
	coll_progress_watch_locked(p);
	spin_unlock(&p->lock);
}

/* Take jobs, unless the thread has links: these must not wait for local steps. Others do those. */
static void coll_progress_rest(struct coll_progress *p)
{
	spin_lock(&p->lock);
	if (!p->watcher.got)
		coll_sleeper_rest(&p->sleeper);
	spin_unlock(&p->lock);
}

/* The progress thread leaves, for an unknown time. */
static void coll_progress_go_away(struct coll_progress *p)
{
	spin_lock(&p->lock);
	WRITE_ONCE(p->sleeper.away, true);
	coll_progress_unwatch_locked(p);
	spin_unlock(&p->lock);
}

static void coll_progress_stand_in(struct work_struct *work)
{
	struct coll_progress *p = container_of(work, struct coll_progress, stand_in);
	struct coll_group *g = coll_member_group(p->member);
	struct coll_worker w;

	coll_worker_begin(&w, g->user, &g->error);
	while (!coll_worker_is_over(&w) && coll_group_can_help(g))
		coll_group_help(g, &w, NULL);
	if (coll_group_can_help(g))
		queue_work(g->user->wq, work);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
}

/* Other threads may rely on this one: a worker does the work that it leaves undone. */
static void coll_progress_finish(struct coll_progress *p)
{
	struct coll_group *g;

	coll_sleeper_rise(&p->sleeper);
	/* pairs with coll_team_start(): it sees ->away, or we see the op that it opens */
	smp_mb();
	g = coll_member_group(p->member);
	if (coll_group_can_help(g))
		queue_work(g->user->wq, &p->stand_in);
}

static bool coll_progress_can_help(const struct coll_progress *p)
{
	return !READ_ONCE(p->idle) && coll_group_can_help(coll_member_group(p->member));
}

/* Is there work to do, or are the links to be given up, or is the thread to stop? */
static bool coll_progress_wakes(const struct coll_progress *p)
{
	return READ_ONCE(p->stop) || (READ_ONCE(p->idle) && READ_ONCE(p->watching)) ||
	       coll_sleeper_has_job(&p->sleeper) ||
	       coll_links_due(coll_member_group(p->member), &p->watcher) ||
	       coll_progress_can_help(p);
}

/* Help with slices of a large sweep. They take long, so leave the links to others meanwhile. */
static void coll_progress_help(struct coll_progress *p)
{
	if (!coll_progress_can_help(p))
		return;
	spin_lock(&p->lock);
	p->helping = true;
	coll_progress_unwatch_locked(p);
	spin_unlock(&p->lock);
	coll_group_help(coll_member_group(p->member), NULL, NULL);
	spin_lock(&p->lock);
	p->helping = false;
	coll_progress_watch_locked(p);
	spin_unlock(&p->lock);
}

/* Leave the links to callers and workers if no collective relies on this thread. */
static void coll_progress_settle(struct coll_progress *p)
{
	spin_lock(&p->lock);
	if (p->idle)
		coll_progress_unwatch_locked(p);
	spin_unlock(&p->lock);
}

/* Wait for something to do, and do it. */
static void coll_progress_work(struct coll_progress *p)
{
	u64 begin;

	coll_progress_rest(p);
	if (wait_event_interruptible(p->sleeper.wq, coll_progress_wakes(p)))
		return;
	begin = coll_account_begin();
	coll_sleeper_rise(&p->sleeper);
	coll_links_attend(coll_member_group(p->member), &p->watcher);
	coll_progress_help(p);
	coll_account_call(p->member, begin);
	coll_progress_settle(p);
}

/* The thread does nothing more: tell coll_progress_release(), which waits for that. */
static void coll_progress_over(struct coll_progress *p)
{
	WRITE_ONCE(p->over, true);
	wake_up(&p->sleeper.wq);
}

/*
 * The kernel calls this in a loop. Between two calls it handles signals, which may stop the thread
 * for long. So ->away is always set when this function returns.
 */
static bool coll_progress_run(void *data)
{
	struct coll_progress *p = data;

	if (READ_ONCE(p->stop)) {
		coll_progress_over(p);
		return false;	/* the thread sleeps until vhost_task_stop() */
	}
	__set_current_state(TASK_RUNNING);
	coll_progress_come(p);
	while (!READ_ONCE(p->stop) && !signal_pending(current))
		coll_progress_work(p);
	coll_progress_go_away(p);
	coll_progress_finish(p);
	return true;
}

/*
 * The process is being killed, or executes another program: the thread calls nothing after this.
 * Tell other ranks now: the process may close the file much later, for example after a core dump.
 */
static void coll_progress_killed(void *data)
{
	struct coll_progress *p = data;

	coll_progress_go_away(p);
	coll_progress_over(p);
	coll_end_killed(p->cf);
}

static struct coll_progress *coll_progress_alloc(struct coll_file *cf)
{
	struct coll_progress *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->cf = cf;
	p->member = cf->member;
	INIT_WORK(&p->stand_in, coll_progress_stand_in);
	p->idle = true;
	p->sleeper.away = true;
	init_waitqueue_head(&p->sleeper.wq);
	spin_lock_init(&p->lock);
	p->watcher.wq = &p->sleeper.wq;
	p->watcher.done = &p->idle;
	p->thread = coll_user_thread(coll_progress_run, coll_progress_killed, p, "coll-progress");
	if (!p->thread) {
		kfree(p);
		return NULL;
	}
	vhost_task_start(p->thread);
	return p;
}

/*
 * The new thread inherits flags and credentials from its maker, and has to be like a thread of the
 * process that has opened the file. If a thread of io_uring made it, the kernel would take it for
 * one of io_uring's.
 */
static bool coll_progress_may_start(const struct coll_file *cf)
{
	return !(current->flags & (PF_KTHREAD | PF_USER_WORKER | PF_IO_WORKER | PF_EXITING)) &&
	       current_cred() == current_real_cred() &&
	       current->tgid == cf->member->tgid && coll_member_is_owner(cf->member);
}

static struct coll_progress *coll_progress_start(struct coll_file *cf)
{
	struct coll_progress *p = NULL;

	if (!coll_progress_may_start(cf) || !mutex_trylock(&cf->starting))
		return NULL;
	if (!cf->progress && (!cf->progress_again ||
			      time_after_eq(jiffies, cf->progress_again))) {
		p = coll_progress_alloc(cf);
		cf->progress_again = jiffies + COLL_PROGRESS_AGAIN ?: 1;
		/* pairs with coll_progress_begin() */
		smp_store_release(&cf->progress, p);
	}
	mutex_unlock(&cf->starting);
	return p;
}

/* No rank attends to links for messages, and a small op on one node is done at once. */
static bool coll_progress_wanted(const struct coll_group *g, const struct coll_req *req)
{
	return !coll_is_message(req->cmd.collective) &&
	       (g->nr_nodes > 1 || (g->nr_local > 1 && req->bytes > COLL_SLICE));
}

/*
 * While the calling task gave links to the progress thread, a link may have woken the thread before
 * it could see that the link is its own. And a link may have work left from another watcher. That
 * work wakes no one. So wake the thread if there is work.
 */
static void coll_progress_tell(struct coll_progress *p)
{
	/* pairs with coll_conn_tell(): we see its bit, or it sees the new watcher */
	smp_mb();
	if (coll_links_due(coll_member_group(p->member), &p->watcher))
		wake_up(&p->sleeper.wq);
}

/* One more collective or wait relies on the thread. */
static void coll_progress_use_locked(struct coll_progress *p)
{
	lockdep_assert_held(&p->lock);
	p->pending++;
	WRITE_ONCE(p->idle, false);
	coll_progress_watch_locked(p);
}

struct coll_progress *coll_progress_begin(struct coll_file *cf, struct coll_req *req)
{
	/* pairs with coll_progress_start() */
	struct coll_progress *p = smp_load_acquire(&cf->progress);

	if (!coll_progress_wanted(coll_member_group(cf->member), req))
		return NULL;
	if (!p)
		p = coll_progress_start(cf);
	if (!p)
		return NULL;
	spin_lock(&p->lock);
	if (!p->sleeper.task) {
		spin_unlock(&p->lock);
		return NULL;
	}
	coll_progress_use_locked(p);
	spin_unlock(&p->lock);
	coll_progress_tell(p);
	req->sleeper = &p->sleeper;
	return p;
}

struct coll_progress *coll_progress_hold(struct coll_file *cf)
{
	/* pairs with coll_progress_start() */
	struct coll_progress *p = smp_load_acquire(&cf->progress);

	if (!p)
		p = coll_progress_start(cf);
	if (!p || READ_ONCE(p->over))
		return NULL;
	spin_lock(&p->lock);
	coll_progress_use_locked(p);
	spin_unlock(&p->lock);
	coll_progress_tell(p);
	return p;
}

void coll_progress_wake(struct coll_progress *p)
{
	if (p)
		wake_up(&p->sleeper.wq);
}

void coll_progress_end(struct coll_progress *p)
{
	if (!p)
		return;
	spin_lock(&p->lock);
	if (!--p->pending) {
		WRITE_ONCE(p->idle, true);
		if (p->watching && wq_has_sleeper(&p->sleeper.wq))
			wake_up(&p->sleeper.wq);
	}
	spin_unlock(&p->lock);
}

bool coll_progress_may_linger(const struct coll_file *cf)
{
	const struct coll_progress *p = cf->progress;

	return p && !READ_ONCE(p->over);
}

bool coll_progress_stop(struct coll_file *cf)
{
	struct coll_progress *p = cf->progress;

	if (!p)
		return true;
	WRITE_ONCE(p->stop, true);
	wake_up(&p->sleeper.wq);
	return wait_event_idle_timeout(p->sleeper.wq, READ_ONCE(p->over), COLL_PROGRESS_STOP);
}

void coll_progress_release(struct coll_file *cf)
{
	struct coll_progress *p = cf->progress;

	if (!p)
		return;
	WRITE_ONCE(p->stop, true);
	wake_up(&p->sleeper.wq);
	/* The process of the thread may be stopped: wait without being reported as a hung task. */
	wait_event_idle(p->sleeper.wq, READ_ONCE(p->over));
	vhost_task_stop(p->thread);
	cancel_work_sync(&p->stand_in);
	/* The thread may have been stopped before it gave up the links. */
	spin_lock(&p->lock);
	coll_progress_unwatch_locked(p);
	spin_unlock(&p->lock);
	if (p->sleeper.task)
		put_task_struct(p->sleeper.task);
	kfree(p);
}

#endif /* COLL_HAS_USER_THREADS */
