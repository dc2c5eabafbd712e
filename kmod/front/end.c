// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a rank. This file alone decides that the process of a rank has ended, or that
 * its file has been closed. Other files only tell it what they have seen.
 *
 * Rule 1: a rank is the process (thread group) that opened the file. Threads come and go.
 * The process has ended when
 *	- it is being killed, or has called exit_group(); or the last of its threads that run
 *	  code of the user's exits: coll_process_ends(); or
 *	- its address space goes, by exit or by exec: the mmu notifier; or io_uring cancels
 *	  the commands of the process in flight, because exec() waits for them; or
 *	- a blocking call, or one that collects, is killed. If no signal has killed the
 *	  process, it execs.
 * Rule 2: the file has been closed when the only references to it that are left are those
 * of commands in flight. Then no one can ever collect or cancel these. Commands of
 * COLL_IOC_POST have no reference.
 *
 * struct file counts the references of rule 2, but also those that any system call holds for a
 * moment. When such a call ends after the last close() there is no callback. So a close() that
 * finds commands in flight and other references starts the watch, see watch.h.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mmu_notifier.h>

#include "../compat.h"
#include "../core/group/account.h"
#include "../core/group/failure.h"
#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/group/proxy.h"
#include "../core/worker.h"
#include "calls.h"
#include "end.h"
#include "file.h"
#include "refs.h"
#include "watch.h"

/* Rule 1. A thread that the kernel has put into the process does not keep it alive. */
static bool coll_process_ends(struct task_struct *p)
{
	struct task_struct *t;
	bool alive = false;

	if (READ_ONCE(p->signal->flags) & SIGNAL_GROUP_EXIT)
		return true;
	rcu_read_lock();
	for_each_thread(p, t) {
		alive = !(READ_ONCE(t->flags) & (PF_EXITING | COLL_PF_KERNEL_MADE));
		if (alive)
			break;
	}
	rcu_read_unlock();
	return !alive;
}

#if COLL_URING_CAN_CANCEL
static bool coll_process_execs(struct task_struct *p)
{
	return false;	/* coll_end_cancelled() */
}
#else
static bool coll_process_execs(struct task_struct *p)
{
	return coll_exec_waits(p);
}
#endif

static bool coll_end_is_busy(struct coll_file *cf)
{
	return coll_calls_running(cf) || coll_member_busy(cf->member);
}

/* For callers that must not wait: work items do what may take long. */
static void coll_end_soon(struct coll_file *cf, u32 kind)
{
	if (coll_member_gone_soon(cf->member, kind))
		queue_work(coll_member_group(cf->member)->user->end_wq, &cf->exited);
}

static void coll_exited_work(struct work_struct *work)
{
	struct coll_file *cf = container_of(work, struct coll_file, exited);
	struct coll_group *g = coll_member_group(cf->member);
	struct coll_worker w;

	coll_worker_begin(&w, g->user, &g->error);
	coll_member_left(cf->member);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
}

static void coll_watch_work(struct work_struct *work)
{
	struct coll_file *cf = container_of(to_delayed_work(work),
					    struct coll_file, watch);
	struct coll_member *m = cf->member;

	if (!coll_end_is_busy(cf))
		return;
	if (coll_process_ends(m->owner) || coll_process_execs(m->owner))
		coll_end_soon(cf, COLL_CAUSE_EXIT);
	else if (READ_ONCE(cf->closed) && coll_end_is_closed(cf, 0))
		coll_end_soon(cf, COLL_CAUSE_CLOSE);
	else
		coll_watch_later(cf);
}

void coll_end_flush(struct coll_file *cf, fl_owner_t files)
{
	struct coll_member *m = cf->member;

	if (current->tgid == m->tgid && current->flags & PF_EXITING &&
	    coll_process_ends(m->owner)) {
		coll_member_gone(m, COLL_CAUSE_EXIT);
		return;
	}
	/* A descriptor of another process may be the last one, too. */
	coll_calls_closed(cf, files);
	WRITE_ONCE(cf->closed, true);
	/* pairs with coll_end_posted(): we see the command, or that function sees ->closed */
	smp_mb();
	if (coll_end_is_closed(cf, 1))
		coll_member_gone(m, COLL_CAUSE_CLOSE);
	else if (coll_end_is_busy(cf))
		coll_watch_soon(cf);
}

void coll_end_posted(struct coll_file *cf, bool holds_file)
{
	/* pairs with coll_end_flush() */
	smp_mb();
	/*
	 * A command that holds the file came by a descriptor, and closing the descriptor calls
	 * coll_end_flush(). A file in the table of a ring is removed without a callback.
	 */
	if (!COLL_URING_CAN_CANCEL || (!holds_file && READ_ONCE(cf->closed)))
		coll_watch_soon(cf);
}

void coll_end_killed(struct coll_file *cf)
{
	/* A process that shares the memory with the rank has a life of its own. */
	if (coll_member_is_mine(cf->member))
		coll_member_gone(cf->member, COLL_CAUSE_EXIT);
}

void coll_end_cancelled(struct coll_file *cf)
{
	coll_member_gone(cf->member, coll_process_ends(cf->member->owner) ?
			 COLL_CAUSE_EXIT : COLL_CAUSE_CANCEL);
}

#ifdef CONFIG_MMU_NOTIFIER
/*
 * Called at the very start of exit_mmap(): reports the death of a large process before its memory
 * is torn down, and even if a child has inherited a descriptor. All users of mmu notifiers may have
 * to wait for this function, so a work item does the part that may take long.
 */
static void coll_mn_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct coll_file *cf = container_of(mn, struct coll_file, mn);
	struct coll_group *g = coll_member_group(cf->member);

	coll_end_soon(cf, COLL_CAUSE_EXIT);
	if (g)
		queue_work(g->user->reap_wq, &cf->unregister);
}

/*
 * A child may keep the file open: do not keep the memory of a dead rank for that long. It takes locks
 * of pages, so it runs on a queue of the user.
 */
static void coll_unregister_work(struct work_struct *work)
{
	struct coll_file *cf = container_of(work, struct coll_file, unregister);

	coll_member_unregister_all(cf->member);
}

static const struct mmu_notifier_ops coll_mn_ops = {
	.release = coll_mn_release,
};

static int coll_watch_mm(struct coll_file *cf)
{
	int ret;

	INIT_WORK(&cf->unregister, coll_unregister_work);
	cf->mn.ops = &coll_mn_ops;
	ret = mmu_notifier_register(&cf->mn, cf->member->ml.mm);
	/* Task work of io_uring interrupts it like a signal: restart the call after that. */
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
}

static void coll_unwatch_mm(struct coll_file *cf)
{
	mmu_notifier_unregister(&cf->mn, cf->member->ml.mm);
	/* Do not wait for a slot of the queue: this may run on the same one. */
	cancel_work_sync(&cf->unregister);
}
#else
static int coll_watch_mm(struct coll_file *cf)
{
	return 0;
}

static void coll_unwatch_mm(struct coll_file *cf)
{
}
#endif

int coll_end_open(struct coll_file *cf, struct file *file)
{
	cf->file = file;
	INIT_DELAYED_WORK(&cf->watch, coll_watch_work);
	INIT_WORK(&cf->exited, coll_exited_work);
	return coll_watch_mm(cf);
}

void coll_end_released(struct coll_file *cf)
{
	/* From here on no rank posts for this one. */
	coll_proxy_close(cf->member);
	if (coll_end_is_busy(cf))
		coll_member_gone(cf->member, COLL_CAUSE_CLOSE);
	cancel_delayed_work_sync(&cf->watch);
}

void coll_end_release(struct coll_file *cf)
{
	/* This may report the end of the process once more: the group still exists. */
	coll_unwatch_mm(cf);
	/* Do not wait for a slot of the queue. coll_group_leave() does the same. */
	cancel_work_sync(&cf->exited);
}
