// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/io_uring_types.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/coll.h>

#include "../compat.h"
#include "../core/deadline.h"
#include "../core/group/failure.h"
#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_results.h"
#include "file.h"
#include "progress.h"
#include "refs.h"
#include "tensor_await.h"
#include "tensor_wait.h"

/**
 * struct coll_await - a wait in flight
 * @cf: file
 * @cmd: command of io_uring
 * @to: where @w was copied from
 * @w: what is waited for
 * @waiter: counts among the waits of the rank
 * @entry: in member->tensors.awaits
 * @deadline: ends the wait
 * @expires: when; 0: never
 * @progress: the thread that works for it; NULL: workers do
 * @claimed: the wait is over. The thread that sets this has the command completed, once.
 * @result: result of the command if the wait has got no results of tensors
 * @holds_file: it has a counted reference to the file, see refs.h
 *
 * Owner: the submitter during the issue, then task work of the submitter, which frees it.
 */
struct coll_await {
	struct coll_file *cf;
	struct io_uring_cmd *cmd;
	u64 to;
	struct coll_tensor_wait w;
	struct coll_tensors_waiter waiter;
	struct wait_queue_entry entry;
	struct delayed_work deadline;
	u64 expires;
	struct coll_progress *progress;
	atomic_t claimed;
	int result;
	bool holds_file;
};

static struct coll_await **coll_await_of(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct coll_await *) > sizeof(cmd->pdu));
	return (struct coll_await **)cmd->pdu;
}

static bool coll_await_claim(struct coll_await *a)
{
	return !atomic_xchg(&a->claimed, 1);
}

static void coll_await_finish(COLL_TW_ARGS);

/* End the wait with @result, unless another thread does. From any context. */
static void coll_await_end(struct coll_await *a, int result)
{
	if (!coll_await_claim(a))
		return;
	a->result = result;
	coll_cmd_finish_in_task(a->cmd, coll_await_finish);
}

/*
 * A thread that waits is woken: by results, or by an op that it could help with. Under the lock of
 * the queue, and mostly under group->lock.
 */
static int coll_await_wake_locked(struct wait_queue_entry *entry, unsigned int mode, int flags,
				  void *key)
{
	struct coll_await *a = container_of(entry, struct coll_await, entry);
	struct coll_member *m = a->cf->member;

	lockdep_assert_held(&m->tensors.awaits.lock);
	if (coll_tensors_seem_collectable(m, a->waiter.min))
		coll_await_end(a, 0);
	else if (READ_ONCE(coll_member_group(m)->nr_open))
		coll_progress_wake(a->progress);
	return 0;
}

static void coll_await_deadline(struct work_struct *work)
{
	struct coll_await *a = container_of(to_delayed_work(work), struct coll_await, deadline);
	unsigned long left = coll_deadline_delay(a->expires);

	/* The timer was early. */
	if (left)
		queue_delayed_work(coll_alarm_wq, &a->deadline, left);
	else
		coll_await_end(a, -ETIMEDOUT);
}

/* From here on any thread may claim the wait. */
static void coll_await_arm(struct coll_await *a)
{
	struct coll_member *m = a->cf->member;

	a->waiter = (struct coll_tensors_waiter){ .min = a->w.min - a->w.got };
	coll_tensors_wait_begin(m, &a->waiter);
	atomic_set(&a->claimed, 0);
	add_wait_queue(&m->tensors.awaits, &a->entry);
	/* pairs with coll_tensors_wake(): that sees the entry, or the caller sees the results */
	smp_mb();
	if (a->expires)
		queue_delayed_work(coll_alarm_wq, &a->deadline, coll_deadline_delay(a->expires));
	/* An op that was opened before this has woken no thread for this wait. */
	if (READ_ONCE(coll_member_group(m)->nr_open))
		coll_progress_wake(a->progress);
}

/* The wait has been claimed by the caller, or for it. */
static void coll_await_disarm(struct coll_await *a)
{
	struct coll_member *m = a->cf->member;

	remove_wait_queue(&m->tensors.awaits, &a->entry);
	cancel_delayed_work_sync(&a->deadline);
	coll_tensors_wait_end(m, &a->waiter);
}

/*
 * Take the results that there are. Return: false: another thread has taken results that this wait
 * was ended for, so the wait goes on.
 */
static bool coll_await_take(struct coll_await *a)
{
	struct coll_member *m = a->cf->member;

	/* The task has ended, and a kernel thread does its work: it cannot store the results. */
	if (current->mm != m->ml.mm)
		a->result = -ECANCELED;
	if (a->result == -ECANCELED)
		return true;
	if (coll_wait_take(m, &a->w)) {
		a->result = -EFAULT;
		return true;
	}
	return a->w.got >= a->w.min || a->result || !coll_tensors_more(m);
}

/* Complete the command, unless the wait has to go on. In the task that submitted. */
static void coll_await_complete(struct coll_await *a, unsigned int issue_flags)
{
	struct coll_tensor_wait __user *to = u64_to_user_ptr(a->to);
	struct io_uring_cmd *cmd = a->cmd;
	struct coll_file *cf = a->cf;
	bool holds_file = a->holds_file;
	int result;

	coll_await_disarm(a);
	while (!coll_await_take(a)) {
		coll_await_arm(a);
		if (!coll_tensors_seem_collectable(cf->member, a->waiter.min) ||
		    !coll_await_claim(a))
			return;
		coll_await_disarm(a);
	}
	if (a->result != -ECANCELED && put_user(a->w.got, &to->got))
		a->result = -EFAULT;
	result = a->w.got && a->result != -EFAULT ? (int)a->w.got : a->result;
	coll_progress_end(a->progress);
	atomic_dec(&cf->member->tensors.nr_awaits);
	/* COLL_URING_TASK_LOCKS: io_uring cancels under the lock of the ring, which this thread holds. */
	*coll_await_of(cmd) = NULL;
	cmpxchg(&cf->cancelled, a, NULL);
	kfree(a);
	/* io_uring holds the file until the command is complete. */
	if (holds_file)
		coll_end_drop(cf);
	coll_cmd_done(cmd, result, issue_flags);
}

static void coll_await_finish(COLL_TW_ARGS)
{
	struct io_uring_cmd *cmd = coll_tw_cmd();

	coll_await_complete(*coll_await_of(cmd), coll_tw_flags());
}

static struct coll_await *coll_await_alloc(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg,
					   const struct coll_tensor_wait *w)
{
	struct coll_await *a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);

	if (!a)
		return NULL;
	a->cf = cf;
	a->cmd = cmd;
	a->to = arg;
	a->w = *w;
	a->expires = w->timeout_ns ? coll_deadline(w->timeout_ns) : 0;
	a->holds_file = !(cmd_to_io_kiocb(cmd)->flags & REQ_F_FIXED_FILE);
	init_waitqueue_func_entry(&a->entry, coll_await_wake_locked);
	INIT_DELAYED_WORK(&a->deadline, coll_await_deadline);
	return a;
}

static bool coll_await_count(struct coll_member *m)
{
	if (atomic_inc_return(&m->tensors.nr_awaits) <= COLL_AWAITS_MAX)
		return true;
	atomic_dec(&m->tensors.nr_awaits);
	return false;
}

int coll_await_begin(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg,
		     const struct coll_tensor_wait *w, unsigned int issue_flags)
{
	struct coll_await *a;
	int ret = coll_tensors_check(cf->member);

	if (ret) {
		coll_cmd_done(cmd, ret, issue_flags);
		return -EIOCBQUEUED;
	}
	if (!COLL_URING_TASK_LOCKS || !coll_await_count(cf->member))
		return -EAGAIN;
	a = coll_await_alloc(cf, cmd, arg, w);
	if (!a) {
		atomic_dec(&cf->member->tensors.nr_awaits);
		return -EAGAIN;
	}
	a->progress = coll_progress_hold(cf);
	*coll_await_of(cmd) = a;
	if (a->holds_file)
		coll_end_hold(cf);
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	coll_await_arm(a);
	/* Task work completes the command when this task has left the issue: @a is there until then. */
	if (coll_tensors_seem_collectable(cf->member, a->waiter.min) && coll_await_claim(a))
		coll_await_complete(a, issue_flags);
	return -EIOCBQUEUED;
}

void coll_await_cancel(struct io_uring_cmd *cmd)
{
	struct coll_await *a = *coll_await_of(cmd);

	if (a)
		coll_await_end(a, -ECANCELED);
}
