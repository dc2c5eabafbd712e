// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/fdtable.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/ptrace.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/mem/slot.h"
#include "../core/op/op_run.h"
#include "../core/worker.h"
#include "calls.h"
#include "file.h"
#include "refs.h"
#include "watch.h"

/*
 * Calls that are parked, and whose ops are in flight: of one thread, and of one file. Only a thread
 * that jumps out of signal handlers has more than a few, and it may end and leave them. FILE bounds
 * the walks under cf->lock.
 */
#define COLL_PARKED_MOST	256U
#define COLL_PARKED_FILE	4096U

/*
 * Under cf->lock. Return: true: a descriptor has been closed since the last call of the rank, so the
 * caller must call coll_call_look().
 */
static bool coll_call_enter_locked(struct coll_call *call, struct coll_file *cf)
{
	bool look = cf->closed_anew && coll_member_is_owner(cf->member);

	lockdep_assert_held(&cf->lock);
	call->files = current->files;
	call->counted = false;
	list_add(&call->list, &cf->calls);
	cf->nr_callers++;
	if (look)
		cf->closed_anew = false;
	return look;
}

static void coll_call_count_locked(struct coll_call *call)
{
	lockdep_assert_held(&call->cf->lock);
	if (call->counted)
		return;
	call->counted = true;
	coll_end_hold(call->cf);
}

static int coll_call_is_of(const void *file, struct file *f, unsigned int fd)
{
	return f == file;
}

/*
 * A descriptor was closed before the call was in the list, so coll_calls_closed() did not see the
 * call. It may have been the last descriptor in the table, and the one that this call came by. Then
 * the call has a reference of its own: only another thread of the table can have closed it.
 */
static void coll_call_look(struct coll_call *call)
{
	struct coll_file *cf = call->cf;

	if (iterate_fd(current->files, 0, coll_call_is_of, cf->file))
		return;
	spin_lock(&cf->lock);
	/* Other threads may be where this one was, and no close() comes after this. */
	cf->closed_anew = true;
	coll_call_count_locked(call);
	spin_unlock(&cf->lock);
	coll_watch_soon(cf);
}

struct coll_call *coll_call_begin(struct coll_file *cf)
{
	struct coll_call *call;
	bool look = false;

	spin_lock(&cf->lock);
	call = cf->spare;
	cf->spare = NULL;
	if (call)
		look = coll_call_enter_locked(call, cf);
	spin_unlock(&cf->lock);
	if (!call) {
		call = kmalloc(sizeof(*call), GFP_KERNEL_ACCOUNT);
		if (!call)
			return NULL;
		call->cf = cf;
		call->task = NULL;
		call->stood_in = false;
		spin_lock(&cf->lock);
		look = coll_call_enter_locked(call, cf);
		spin_unlock(&cf->lock);
	}
	if (look)
		coll_call_look(call);
	memset_startat(call, 0, req);
	return call;
}

/* The thread leaves the call. Under cf->lock. */
static void coll_call_leave_locked(struct coll_call *call)
{
	struct coll_file *cf = call->cf;

	lockdep_assert_held(&cf->lock);
	if (call->counted)
		coll_end_drop(cf);
	call->counted = false;
	cf->nr_callers--;
}

/* Release the parts that only a parked call has. No thread uses the call any more. */
static void coll_call_clear(struct coll_call *call)
{
	if (call->stood_in)
		cancel_work_sync(&call->stand_in);
	if (call->task)
		put_task_struct(call->task);
	call->stood_in = false;
	call->task = NULL;
}

void coll_call_end(struct coll_call *call)
{
	struct coll_file *cf = call->cf;

	coll_call_clear(call);
	spin_lock(&cf->lock);
	coll_call_leave_locked(call);
	list_del(&call->list);
	if (!cf->spare) {
		cf->spare = call;
		call = NULL;
	}
	spin_unlock(&cf->lock);
	kfree(call);
}

bool coll_call_is_done(struct coll_call *call)
{
	bool done;

	spin_lock_irq(&call->sleeper.wq.lock);
	done = call->done;
	spin_unlock_irq(&call->sleeper.wq.lock);
	return done;
}

static void coll_call_stand_in(struct work_struct *work)
{
	struct coll_call *call = container_of(work, struct coll_call, stand_in);
	struct coll_group *g = coll_member_group(call->req.member);
	struct coll_worker w;

	coll_worker_begin(&w, g->user, &g->error);
	/* A request that sends and receives may have two messages to copy, one after the other. */
	while (!coll_worker_is_over(&w) && coll_req_can_help(&call->req))
		coll_req_help(&call->req, &w);
	if (coll_req_can_help(&call->req))
		queue_work(g->user->wq, work);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
}

/* A worker does slices that other threads have left to the caller because it was awake. */
static void coll_call_delegate(struct coll_call *call)
{
	if (!coll_req_can_help(&call->req))
		return;
	if (!call->stood_in)
		INIT_WORK(&call->stand_in, coll_call_stand_in);
	call->stood_in = true;
	queue_work(coll_member_group(call->req.member)->user->wq, &call->stand_in);
}

/* Free a parked call that is in no list any more, when its op has ended. */
static void coll_call_drop(struct coll_call *call)
{
	/* If the op has failed: wait for the present slice, and for links to release pages. */
	wait_event_idle(call->sleeper.wq, coll_call_is_done(call));
	coll_call_clear(call);
	/* The thread has not come back for the result. */
	if (call->req.slot)
		coll_slot_put(&call->req.member->slots, call->req.slot);
	kfree(call);
}

/*
 * Find a call that is done, and whose thread will not come back for it: the thread has ended; or
 * the thread is current, and has parked more calls than signal handlers nest, so it has jumped out
 * of the oldest ones. NULL: there is none.
 */
static struct coll_call *coll_call_abandoned_locked(struct coll_file *cf)
{
	struct coll_call *call, *oldest = NULL;
	u32 mine = 0;

	lockdep_assert_held(&cf->lock);
	list_for_each_entry(call, &cf->parked, list) {
		mine += call->task == current;
		if (!READ_ONCE(call->done))
			continue;
		if (READ_ONCE(call->task->exit_state))
			return call;
		if (!oldest && call->task == current)
			oldest = call;
	}
	return mine > COLL_PARKED_MOST ? oldest : NULL;
}

void coll_call_park(struct coll_call *call, u64 arg, u32 len)
{
	struct coll_file *cf = call->cf;
	struct coll_call *old;

	/* First: to read the command may take long, and other ranks wait for these slices. */
	coll_call_delegate(call);
	if (!call->task)
		call->task = get_task_struct(current);
	call->arg = arg;
	call->sp = current_user_stack_pointer();
	call->len = len;
	memset(&call->cmd, 0, sizeof(call->cmd));
	/* If it is unreadable now, coll_call_resume() cannot read it, or sees another command. */
	if (copy_from_user(&call->cmd, u64_to_user_ptr(arg), min_t(size_t, len, sizeof(call->cmd))))
		memset(&call->cmd, 0, sizeof(call->cmd));
	spin_lock(&cf->lock);
	coll_call_leave_locked(call);
	list_move_tail(&call->list, &cf->parked);
	old = coll_call_abandoned_locked(cf);
	if (old)
		list_del(&old->list);
	WRITE_ONCE(cf->nr_parked, cf->nr_parked + !old);
	spin_unlock(&cf->lock);
	if (old)
		coll_call_drop(old);
}

static bool coll_call_matches(const struct coll_call *call, u64 arg, u32 len,
			      const struct coll_cmd *cmd)
{
	return call->task == current && call->arg == arg && call->len == len &&
	       call->sp == current_user_stack_pointer() &&
	       !memcmp(&call->cmd, cmd, sizeof(*cmd));
}

struct coll_call *coll_call_resume(struct coll_file *cf, u64 arg, u32 len)
{
	struct coll_call *call;
	struct coll_cmd cmd = { };
	u32 mine = 0, all = 0;
	bool look;

	if (!READ_ONCE(cf->nr_parked))
		return NULL;
	if (copy_from_user(&cmd, u64_to_user_ptr(arg), min_t(size_t, len, sizeof(cmd))))
		memset(&cmd, 0, sizeof(cmd));
	spin_lock(&cf->lock);
	list_for_each_entry_reverse(call, &cf->parked, list) {
		if (!READ_ONCE(call->done)) {
			mine += call->task == current;
			all++;
		}
		if (!coll_call_matches(call, arg, len, &cmd))
			continue;
		list_del(&call->list);
		WRITE_ONCE(cf->nr_parked, cf->nr_parked - 1);
		look = coll_call_enter_locked(call, cf);
		spin_unlock(&cf->lock);
		if (look)
			coll_call_look(call);
		return call;
	}
	spin_unlock(&cf->lock);
	return mine < COLL_PARKED_MOST && all < COLL_PARKED_FILE ? NULL : ERR_PTR(-ENOMEM);
}

bool coll_calls_running(struct coll_file *cf)
{
	bool running;

	spin_lock(&cf->lock);
	running = cf->nr_callers;
	spin_unlock(&cf->lock);
	return running;
}

void coll_calls_closed(struct coll_file *cf, fl_owner_t files)
{
	struct coll_call *call;

	spin_lock(&cf->lock);
	cf->closed_anew = true;
	list_for_each_entry(call, &cf->calls, list) {
		if (call->files == files)
			coll_call_count_locked(call);
	}
	spin_unlock(&cf->lock);
}

bool coll_calls_in_flight(struct coll_file *cf)
{
	struct coll_call *call;

	list_for_each_entry(call, &cf->parked, list) {
		if (!coll_call_is_done(call))
			return true;
		cond_resched();
	}
	return false;
}

void coll_calls_release(struct coll_file *cf)
{
	struct coll_call *call, *next;

	list_for_each_entry_safe(call, next, &cf->parked, list) {
		coll_call_drop(call);
		cond_resched();
	}
	kfree(cf->spare);
}
