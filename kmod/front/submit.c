// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/wait.h>

#include "../core/exec/helper.h"
#include "../core/exec/sleeper.h"
#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/group/last_cpu.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/op/op_run.h"
#include "calls.h"
#include "decode.h"
#include "end.h"
#include "file.h"
#include "node.h"
#include "spin.h"
#include "submit.h"

static void coll_waiting_done(struct coll_req *req, int result)
{
	struct coll_call *w = container_of(req, struct coll_call, req);
	unsigned long flags;

	spin_lock_irqsave(&w->sleeper.wq.lock, flags);
	w->result = result;
	w->done = true;
	wake_up_locked(&w->sleeper.wq);
	spin_unlock_irqrestore(&w->sleeper.wq.lock, flags);
}

/*
 * The caller leaves, and may never come back, so other threads must not wait for it. It does one
 * slice of the steps that it has been given, and hands on the rest.
 */
static void coll_waiting_leave(struct coll_call *w)
{
	coll_links_unwatch(coll_member_group(w->req.member), &w->watcher);
	WRITE_ONCE(w->sleeper.away, true);
	/*
	 * Also a full barrier: pairs with coll_team_start() and coll_msg_copy(), which rely on
	 * callers that are not away.
	 */
	coll_sleeper_rise(&w->sleeper);
}

/* Is this op the next of the rank to end? An op before it may be large. */
static bool coll_waiting_is_next(struct coll_call *w)
{
	/* Racy: this only decides which thread should do the work. */
	return data_race(!coll_member_inflight(w->req.member));
}

/*
 * Attend to the links, until the end of the op. Not for a message: messages of other ranks
 * come by the same link, and must not depend on this thread. See coll_conn_attend().
 */
static void coll_waiting_watch(struct coll_call *w)
{
	if (coll_is_message(w->req.cmd.collective))
		return;
	coll_links_watch(coll_member_group(w->req.member), &w->watcher);
	/* Only without links: these must not wait for local steps, which another thread can do. */
	if (!w->watcher.got)
		coll_sleeper_rest(&w->sleeper);
}

/*
 * Help with slices of a large sweep. They take long, so leave the links to others meanwhile.
 * Return: true if there was work.
 */
static bool coll_waiting_help(struct coll_call *w)
{
	struct coll_group *g = coll_member_group(w->req.member);

	if (!coll_req_can_help(&w->req))
		return false;
	coll_links_unwatch(g, &w->watcher);
	coll_sleeper_rise(&w->sleeper);
	coll_req_help(&w->req, NULL);
	w->helped = true;
	coll_waiting_watch(w);
	return true;
}

/*
 * Other threads want this CPU. If one of them is the awaited rank, yield(): this thread stays
 * runnable, and needs no wake-up from another CPU. The scheduler decides which thread comes next.
 * Ranks that wait like this one give the CPU back at once, but a rank that helps may be doing the
 * last slice. Any other thread keeps the CPU for longer; a thread that sleeps gets it back sooner.
 * @end moves by the time that the others have run. Return: false: the caller should sleep.
 */
static bool coll_waiting_yield(struct coll_call *w, u64 *end)
{
	u64 begin, took;

	if (!w->yields)
		return false;
	if (!w->helped && !need_resched() && !coll_cpu_is_wanted(&w->req))
		return true;
	w->yields--;
	begin = ktime_get_ns();
	yield();
	took = ktime_get_ns() - begin;
	*end += took;
	if (took > COLL_SPIN_YIELD_NS) {
		w->yields = 0;
		WRITE_ONCE(w->req.member->no_yields, COLL_SPIN_YIELD_PAUSE);
	}
	return true;
}

/*
 * Poll for a short time before sleeping: a short wait ends sooner than a sleep and a wake-up take.
 * Stop if other threads want the CPU, but yield it to ranks that the op waits for.
 */
static void coll_waiting_spin(struct coll_call *w)
{
	struct coll_group *g = coll_member_group(w->req.member);
	u64 end;

	if (!w->spin_us || READ_ONCE(w->done))
		return;
	/* Not local_clock(): if that is based on jiffies, it may stand still in the loop. */
	end = ktime_get_ns() + w->spin_us * NSEC_PER_USEC;
	while (!READ_ONCE(w->done) && !signal_pending(current) && ktime_get_ns() < end) {
		if ((!single_task_running() || need_resched()) && !coll_waiting_yield(w, &end))
			return;
		coll_links_attend(g, &w->watcher);
		/* An op is opened to helpers once. The check takes a lock that other ranks need. */
		if ((!w->helped && coll_req_can_help(&w->req)) ||
		    coll_sleeper_has_job(&w->sleeper))
			return;
		cpu_relax();
	}
	/* Polling was in vain, and this op may have many more wake-ups. */
	if (!READ_ONCE(w->done) && ktime_get_ns() >= end)
		w->spin_us /= 2;
}

/* Post the request, and poll for its end for a while. Return: as coll_op_post(). */
static int coll_waiting_post(struct coll_call *w)
{
	int ret;

	w->spin_us = coll_spin_us(&w->req);
	w->yields = coll_spin_yields(&w->req);
	coll_waiting_watch(w);
	ret = coll_op_post(&w->req);
	if (!ret) {
		coll_waiting_help(w);
		coll_waiting_spin(w);
	}
	return ret;
}

/* Is there work to do, or has the command ended? */
static bool coll_waiting_wakes(struct coll_call *w)
{
	return coll_call_is_done(w) || coll_req_can_help(&w->req) ||
	       coll_sleeper_has_job(&w->sleeper) ||
	       coll_links_due(coll_member_group(w->req.member), &w->watcher);
}

/* Sleep until there is something to do, or a signal comes. */
static void coll_waiting_sleep(struct coll_call *w)
{
	/* pairs with coll_team_start() */
	smp_store_mb(w->sleeper.awake, false);
	wait_event_interruptible(w->sleeper.wq, coll_waiting_wakes(w));
	WRITE_ONCE(w->sleeper.awake, true);
}

/*
 * Do the work that the caller has been woken for. Then poll if the end of the op is near: when the
 * slices are used up, or when the op is short.
 */
static void coll_waiting_work(struct coll_call *w)
{
	bool soon = w->watcher.alone;

	coll_sleeper_rise(&w->sleeper);
	coll_links_attend(coll_member_group(w->req.member), &w->watcher);
	soon |= coll_waiting_help(w);
	if (!w->watcher.got)
		coll_sleeper_rest(&w->sleeper);
	if (soon)
		coll_waiting_spin(w);
}

/* Wait for the end of a command that is in flight. */
static int coll_waiting_wait(struct coll_call *w, u64 arg, u32 len)
{
	struct coll_file *cf = w->cf;
	u64 begin;
	int ret;

	while (!coll_call_is_done(w)) {
		if (signal_pending(current)) {
			coll_waiting_leave(w);
			/* A thread that is killed does not come back for the result. */
			ret = fatal_signal_pending(current) ? -EINTR : -ERESTARTNOINTR;
			if (ret == -EINTR)
				coll_end_killed(cf);
			coll_call_park(w, arg, len);
			return ret;
		}
		coll_waiting_sleep(w);
		begin = coll_account_begin();
		coll_waiting_work(w);
		coll_account_call(cf->member, begin);
	}
	coll_links_unwatch(coll_member_group(cf->member), &w->watcher);
	ret = coll_deliver(&w->req, w->result);
	coll_call_end(w);
	return ret;
}

static int coll_submit_again(struct coll_call *w, u64 arg, u32 len)
{
	u64 begin = coll_account_begin();

	WRITE_ONCE(w->sleeper.away, false);
	coll_waiting_watch(w);
	/* As after a wake-up: look for work that was left here without a wake-up. */
	coll_waiting_work(w);
	coll_account_call(w->cf->member, begin);
	return coll_waiting_wait(w, arg, len);
}

/*
 * COLL_CMD_NODE: wait for the other local ranks. A signal ends the call with EINTR, since nothing
 * has been posted: the caller makes it again with the time that is left.
 */
static int coll_waiting_gather(struct coll_call *w, u64 *begin)
{
	int ret;

	if (!(w->req.cmd.flags & COLL_CMD_NODE))
		return 0;
	ret = coll_node_gather(&w->req);
	/* The time asleep is not work. */
	*begin = coll_account_begin();
	if (ret == -EINTR && fatal_signal_pending(current))
		coll_end_killed(w->cf);
	return ret;
}

int coll_ioc_submit(struct coll_file *cf, void __user *user_cmd, u32 len)
{
	u64 arg = (unsigned long)user_cmd;
	struct coll_call *w = coll_call_resume(cf, arg, len);
	u64 begin = coll_account_begin();
	int ret;

	if (IS_ERR(w))
		return coll_refused(cf->member, PTR_ERR(w));
	/* A call that was restarted after a signal: its command is under way, see calls.h. */
	if (w)
		return coll_submit_again(w, arg, len);
	w = coll_call_begin(cf);
	if (!w)
		return coll_refused(cf->member, -ENOMEM);
	w->req.for_node = true;
	ret = coll_decode(cf->member, arg, len, NULL, &w->req);
	if (ret)
		goto end;
	ret = coll_waiting_gather(w, &begin);
	if (ret)
		goto undo;
	w->req.done = coll_waiting_done;
	init_waitqueue_head(&w->sleeper.wq);
	w->sleeper.task = current;
	w->sleeper.awake = true;
	w->req.sleeper = &w->sleeper;
	w->watcher.wq = &w->sleeper.wq;
	w->watcher.done = &w->done;
	w->watcher.alone = w->req.bytes <= COLL_WATCH_ALONE && coll_waiting_is_next(w);
	ret = coll_waiting_post(w);
	coll_account_call(cf->member, begin);
	if (!ret)
		return coll_waiting_wait(w, arg, len);
	coll_links_unwatch(coll_member_group(cf->member), &w->watcher);
	coll_node_drop(&w->req);
undo:
	coll_decode_undo(&w->req);
end:
	coll_call_end(w);
	return ret;
}
