// SPDX-License-Identifier: GPL-2.0
/* Named collectives: COLL_IOC_TENSOR_WAIT. */
#include <linux/ioctl.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "../core/deadline.h"
#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/link.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/op/op_run.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_life.h"
#include "../core/tensor/tensor_results.h"
#include "../core/worker.h"
#include "calls.h"
#include "decode.h"
#include "end.h"
#include "file.h"
#include "spin.h"
#include "tensor_post.h"
#include "tensor_wait.h"

/* Is there work to do, or is the wait over? */
static bool coll_wait_wakes(struct coll_member *m, struct coll_tensors_waiter *t,
			    const struct coll_watcher *w)
{
	struct coll_group *g = coll_member_group(m);

	return coll_tensors_wait_over(m, t) || coll_tensors_due(g) ||
	       coll_group_can_help(g) || coll_links_due(g, w);
}

/*
 * The waiting thread does the work of workers, because workers of its user may have to run at nice
 * 19. Once it has its results, or @expires has passed, it leaves the rest to them.
 */
static void coll_wait_work(struct coll_member *m, struct coll_watcher *w, u64 expires)
{
	struct coll_worker until = coll_worker_until(jiffies + coll_deadline_delay(expires));
	struct coll_group *g = coll_member_group(m);
	u64 begin = coll_account_begin();

	coll_links_attend(g, w);
	if (coll_tensors_due(g) || coll_group_can_help(g)) {
		/* Links must not wait for this work. */
		coll_links_unwatch(g, w);
		coll_tensors_settle(g);
		coll_group_help(g, expires ? &until : NULL, w->done);
		coll_links_watch(g, w);
	}
	coll_account_call(m, begin);
}

/*
 * Poll for a while: falling asleep and being woken takes longer than a small tensor. Not if another
 * thread wants the CPU. *@us is halved if the time was not enough.
 */
static void coll_wait_spin(struct coll_member *m, u32 min, struct coll_watcher *w, u32 *us)
{
	struct coll_group *g = coll_member_group(m);
	u64 end = ktime_get_ns() + *us * (u64)NSEC_PER_USEC;

	while (*us && !coll_tensors_seem_collectable(m, min) && !signal_pending(current) &&
	       single_task_running() && !need_resched() && !READ_ONCE(g->nr_open)) {
		if (ktime_get_ns() >= end) {
			*us /= 2;
			break;
		}
		coll_links_attend(g, w);
		cpu_relax();
	}
}

/* Sleep until there is something to do. Return: 0, or an error that ends the wait. */
static int coll_wait_sleep(struct coll_member *m, struct coll_tensors_waiter *t,
			   const struct coll_watcher *w, u64 expires)
{
	unsigned long left;
	long ret;

	if (!expires)
		return wait_event_interruptible(m->tensors.wq, coll_wait_wakes(m, t, w));
	left = coll_deadline_delay(expires);
	if (!left)
		return -ETIMEDOUT;
	ret = wait_event_interruptible_timeout(m->tensors.wq, coll_wait_wakes(m, t, w), left);
	return min_t(long, ret, 0);
}

/*
 * Another rank may want this CPU, to post what this thread waits for. So let it run before this
 * thread helps with a large op. If yield() takes long, another program has got the CPU: do not
 * yield() in the next calls.
 */
static void coll_wait_give_way(struct coll_member *m)
{
	struct coll_group *g = coll_member_group(m);
	u32 pause = READ_ONCE(m->no_yields);
	u64 begin;

	if (g->nr_nodes > 1 || g->nr_local < 2 || !READ_ONCE(g->nr_open) ||
	    single_task_running() || current->prio < MAX_RT_PRIO)
		return;
	if (pause) {
		WRITE_ONCE(m->no_yields, pause - 1);
		return;
	}
	begin = ktime_get_ns();
	yield();
	if (ktime_get_ns() - begin > COLL_WAIT_YIELD_NS)
		WRITE_ONCE(m->no_yields, COLL_WAIT_YIELD_PAUSE);
}

/* Wait until there are @min results. Return: 0: there are, or there will be no more. */
static int coll_wait_for(struct coll_member *m, u32 min, u64 expires)
{
	struct coll_group *g = coll_member_group(m);
	struct coll_tensors_waiter t = { .min = min, .hand = true };
	struct coll_watcher w = { .wq = &m->tensors.wq, .done = &t.done };
	u32 spin_us = coll_spin_group_us(g);
	int ret = 0;

	coll_links_watch(g, &w);
	coll_tensors_wait_begin(m, &t);
	coll_wait_give_way(m);
	while (!ret && !coll_tensors_wait_over(m, &t)) {
		coll_wait_spin(m, min, &w, &spin_us);
		/* A thread with a signal pending does not help: coll_wait_wakes() may stay true. */
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		ret = coll_wait_sleep(m, &t, &w, expires);
		if (!ret)
			coll_wait_work(m, &w, expires);
	}
	coll_tensors_wait_end(m, &t);
	coll_links_unwatch(g, &w);
	return ret;
}

/* Store one result. If that works, the caller has to free @t. */
static int coll_wait_tell(struct coll_tensor_req *t, struct coll_tensor_result __user *to)
{
	struct coll_tensor_result r = { .tag = t->tag };
	u32 k;

	t->result = coll_deliver(&t->req, t->result);
	r.result = t->result;
	r.cause = t->bad.cause;
	r.rank[0] = t->last;
	if (r.cause) {
		r.field = t->bad.field;
		for (k = 0; k < ARRAY_SIZE(r.rank); k++) {
			r.rank[k] = t->bad.rank[k];
			r.value[k] = t->bad.value[k];
		}
	}
	return copy_to_user(to, &r, sizeof(r)) ? -EFAULT : 0;
}

int coll_wait_take(struct coll_member *m, struct coll_tensor_wait *w)
{
	struct coll_tensor_result __user *to = u64_to_user_ptr(w->results);
	struct coll_tensor_req *t, *next;
	LIST_HEAD(done);

	while (coll_tensors_collect(m, &done, w->nr - w->got)) {
		list_for_each_entry_safe(t, next, &done, list) {
			if (coll_wait_tell(t, to + w->got)) {
				coll_tensors_uncollect(m, &done);
				return -EFAULT;
			}
			list_del(&t->list);
			coll_tensor_free(t);
			w->got++;
		}
		cond_resched();
	}
	return 0;
}

static int coll_wait_all(struct coll_member *m, struct coll_tensor_wait *w)
{
	u64 expires = w->timeout_ns ? coll_deadline(w->timeout_ns) : 0;
	int ret = 0;

	do {
		if (w->got < w->min)
			ret = coll_wait_for(m, w->min - w->got, expires);
		/* Results that are there are returned, however the wait has ended. */
		if (coll_wait_take(m, w))
			return -EFAULT;
	} while (!ret && w->got < w->min && coll_tensors_more(m));
	/* For a call that is restarted after a signal. 0 means no limit. */
	if (expires)
		w->timeout_ns = max(coll_deadline_left(expires), 1ULL);
	return w->got ? 0 : ret;
}

int coll_wait_copy(struct coll_tensor_wait *w, const void __user *arg, u32 size)
{
	int ret = copy_struct_from_user(w, sizeof(*w), arg, size);

	if (ret)
		return ret;
	if (!w->nr || w->nr > COLL_TENSOR_CALL_MAX || w->min > w->nr || w->got || w->flags ||
	    w->reserved)
		return -EINVAL;
	return 0;
}

int coll_wait_tensors(struct coll_file *cf, struct coll_tensor_wait __user *to,
		      struct coll_tensor_wait *w)
{
	struct coll_member *m = cf->member;
	int ret = coll_tensors_check(m);

	if (ret)
		return ret;
	ret = coll_wait_all(m, w);
	if (put_user(w->got, &to->got))
		return -EFAULT;
	return ret;
}

/*
 * Do one slice of an op that is open. Workers of the user may have to run at nice 19, so they get no
 * CPU from a rank that asks for results again and again.
 */
static void coll_poll_help(struct coll_member *m)
{
	struct coll_worker slice = coll_worker_until(jiffies - 1);
	struct coll_group *g = coll_member_group(m);
	u64 begin;

	if (coll_tensors_seem_collectable(m, 1) || !READ_ONCE(g->nr_open))
		return;
	begin = coll_account_begin();
	coll_group_help(g, &slice, NULL);
	coll_account_call(m, begin);
}

/* Do not wait. */
static int coll_poll_tensors(struct coll_file *cf, struct coll_tensor_wait __user *to,
			     struct coll_tensor_wait *w)
{
	int ret = coll_tensors_check(cf->member);

	if (ret)
		return ret;
	coll_poll_help(cf->member);
	return coll_wait_tensors(cf, to, w);
}

/*
 * Post the tensors of @w. Return: 1: all have been posted; 0: a signal has ended the post; else its
 * error.
 */
static int coll_wait_post(struct coll_file *cf, struct coll_tensor_wait __user *to,
			  const struct coll_tensor_wait *w)
{
	struct coll_tensor_post __user *arg = u64_to_user_ptr(w->post);
	struct coll_tensor_post p;
	int ret;

	if (w->post_size > PAGE_SIZE)
		return -E2BIG;
	/* coll_post_tensors() writes ->posted to @arg, so the structure must have that field. */
	if (w->post_size < _IOC_SIZE(COLL_IOC_TENSOR_POST))
		return -EINVAL;
	ret = coll_post_copy(&p, arg, w->post_size);
	if (ret)
		return ret;
	/* The call may be restarted after a signal: do not post again. */
	if (put_user(0, &to->post))
		return -EFAULT;
	ret = coll_post_tensors(cf, arg, &p, false);
	return ret ?: p.posted == p.nr;
}

static int coll_wait_run(struct coll_file *cf, struct coll_tensor_wait __user *to,
			 struct coll_tensor_wait *w)
{
	int ret = w->post ? coll_wait_post(cf, to, w) : 1;

	if (ret <= 0)
		return ret;
	return w->min ? coll_wait_tensors(cf, to, w) : coll_poll_tensors(cf, to, w);
}

int coll_ioc_tensor_wait(struct coll_file *cf, void __user *arg, u32 size)
{
	struct coll_tensor_wait __user *to = arg;
	struct coll_tensor_wait w;
	struct coll_call *call;
	int ret = coll_wait_copy(&w, arg, size);

	if (ret)
		return ret;
	if (!w.min && !w.post)
		return coll_poll_tensors(cf, arg, &w);
	if (!coll_member_is_owner(cf->member))
		return -EPERM;
	/* The caller's reference to the file counts: another thread may close the last descriptor. */
	call = coll_call_begin(cf);
	if (!call)
		return -ENOMEM;
	ret = coll_wait_run(cf, to, &w);
	coll_call_end(call);
	if (ret == -ERESTARTSYS && w.timeout_ns && put_user(w.timeout_ns, &to->timeout_ns))
		return -EFAULT;
	if (ret < 0 && fatal_signal_pending(current))
		coll_end_killed(cf);
	return ret;
}
