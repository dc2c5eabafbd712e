// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "../core/account.h"
#include "../core/limits.h"
#include "../core/link.h"
#include "../core/member.h"
#include "../core/op.h"
#include "decode.h"
#include "file.h"
#include "spin.h"

/* A blocked ioctl. Lives on its stack, so it must not return before @done. */
struct coll_waiting {
	struct coll_req req;
	wait_queue_head_t wq;
	bool done;		/* wq.lock, so that the waker has let go of it */
	int result;
};

static void coll_waiting_done(struct coll_req *req, int result)
{
	struct coll_waiting *w = container_of(req, struct coll_waiting, req);
	unsigned long flags;

	spin_lock_irqsave(&w->wq.lock, flags);
	w->result = result;
	w->done = true;
	wake_up_locked(&w->wq);
	spin_unlock_irqrestore(&w->wq.lock, flags);
}

static bool coll_waiting_is_done(struct coll_waiting *w)
{
	bool done;

	spin_lock_irq(&w->wq.lock);
	done = w->done;
	spin_unlock_irq(&w->wq.lock);
	return done;
}

/*
 * The process is being killed: that ends the communicator, and with it, within
 * a slice of work, this op. Only then may its pages and our stack go.
 */
static void coll_waiting_killed(struct coll_waiting *w)
{
	coll_member_gone(w->req.member, COLL_CAUSE_EXIT);
	wait_event(w->wq, coll_waiting_is_done(w));
}

/*
 * Falling asleep and being woken takes longer than what is short to wait for. But not
 * if others want the CPU, be it those that are waited for.
 */
static void coll_waiting_spin(struct coll_waiting *w, u32 us, u32 peers)
{
	/* Not local_clock(): where that is jiffies, it stands still meanwhile. */
	u64 end = ktime_get_ns() + us * NSEC_PER_USEC;

	while (!READ_ONCE(w->done) && !need_resched() && !signal_pending(current) &&
	       ktime_get_ns() < end) {
		if (peers)
			coll_links_poll(coll_member_group(w->req.member), peers);
		if (coll_req_can_help(&w->req))
			return;
		cpu_relax();
	}
}

/* Post it, and stay awake for a moment. Return: as coll_op_post(). */
static int coll_waiting_post(struct coll_waiting *w)
{
	struct coll_group *g = coll_member_group(w->req.member);
	u32 us = coll_spin_us(&w->req), peers = 0;
	int ret;

	/*
	 * Large ones are for workers, of which each link has one: also such a one that runs
	 * already, and that ours has to wait for.
	 */
	if (us && w->req.bytes <= COLL_POLL_BYTES && !READ_ONCE(g->active))
		peers = coll_links_watch(g);
	ret = coll_op_post(&w->req);
	if (!ret) {
		coll_req_help(&w->req);
		if (us)
			coll_waiting_spin(w, us, peers);
	}
	coll_links_unwatch(g, peers);
	return ret;
}

int coll_submit_wait(struct coll_file *cf, u64 arg, u32 len)
{
	struct coll_waiting w = { .req.done = coll_waiting_done };
	u64 begin = coll_account_begin();
	int ret;

	ret = coll_decode(cf->member, arg, len, &w.req);
	if (ret)
		return ret;
	init_waitqueue_head(&w.wq);
	w.req.waiter = &w.wq;
	w.req.sleeper = current;
	atomic_inc(&cf->refs);
	ret = coll_waiting_post(&w);
	coll_account_call(cf->member, begin);
	if (ret) {
		coll_decode_undo(&w.req);
		goto out;
	}
	while (!coll_waiting_is_done(&w)) {
		if (fatal_signal_pending(current) ||
		    wait_event_killable(w.wq, coll_waiting_is_done(&w) ||
					      coll_req_can_help(&w.req))) {
			coll_waiting_killed(&w);
			break;
		}
		begin = coll_account_begin();
		coll_req_help(&w.req);
		coll_account_call(cf->member, begin);
	}
	ret = coll_deliver(&w.req, w.result);
out:
	atomic_dec(&cf->refs);
	return ret;
}
