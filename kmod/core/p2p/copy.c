// SPDX-License-Identifier: GPL-2.0
/* Messages within the node: pages are copied to pages, in slices, by any thread that helps. */
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "../exec/sleeper.h"
#include "../group/account.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../group/ref.h"
#include "../limits.h"
#include "../worker.h"
#include "copy.h"
#include "exchange.h"
#include "peer.h"
#include "state.h"

void coll_msg_begin(struct coll_msg *lead)
{
	struct coll_group *g = lead->x->g;

	if (lead->note.error || !lead->bytes)
		coll_msg_finish(lead, lead->note.error);
	else if (lead->from)
		coll_msg_copy(lead);
	if (!lead->from)
		coll_msg_kick(g, g->node_of[lead->note.source]);
	coll_msg_put(lead);
}

/* Return: 0 or as coll_vec_run(). */
static int coll_msg_copy_range(struct coll_msg *lead, u64 off, u64 len)
{
	while (len) {
		struct coll_run to, from;
		int ret;

		ret = coll_vec_run(&lead->vec, off, min_t(u64, len, S32_MAX), &to);
		if (ret)
			return ret;
		ret = coll_vec_run(&lead->from->vec, off, to.len, &from);
		if (ret) {
			coll_run_put(&to);
			return ret;
		}
		memcpy(to.addr, from.addr, from.len);
		off += from.len;
		len -= from.len;
		coll_run_put(&from);
		coll_run_put(&to);
		cond_resched();
	}
	return 0;
}

static bool coll_msg_has_slices(const struct coll_msg *lead)
{
	return lead->shared && !coll_msg_ending(lead) &&
	       atomic64_read(&lead->cursor) < lead->bytes;
}

/*
 * Take slices until there are none left, or until the time of worker @w is over; @w is NULL in a
 * system call. The thread holds a ref. Return: there are more slices.
 */
static bool coll_msg_take_slices(struct coll_msg *lead, struct coll_worker *w)
{
	u64 off, len;
	int ret;

	for (;;) {
		/* Check before a slice is taken: a slice that has been taken must be copied. */
		if (coll_msg_ending(lead) || signal_pending(current))
			return false;
		if (coll_worker_is_over(w))
			return true;
		off = atomic64_fetch_add(COLL_SLICE, &lead->cursor);
		if (off >= lead->bytes)
			return false;
		len = min_t(u64, lead->bytes - off, COLL_SLICE);
		ret = coll_msg_copy_range(lead, off, len);
		if (ret) {
			coll_msg_failed(lead, ret);
			return false;
		}
		coll_worker_moved(w);
		if (atomic64_add_return(len, &lead->moved) == lead->bytes)
			coll_msg_finish(lead, 0);
	}
}

static void coll_msg_helper_work(struct work_struct *work)
{
	struct coll_msg_helper *h = container_of(work, struct coll_msg_helper, work);
	struct coll_msg *lead = h->lead;
	struct coll_group *g = lead->x->g;
	struct coll_worker w;
	bool more;

	coll_group_get(g);
	coll_worker_begin(&w, g->user, &g->error);
	more = coll_msg_take_slices(lead, &w);
	coll_account_work(g, w.begin);
	/* Keep the ref, and queue again: another message of the user may have its turn first. */
	if (more)
		queue_work(g->user->wq, &h->work);
	else
		coll_msg_put(lead);
	coll_worker_end(&w);
	coll_group_put(g);
}

/* Queue @nr helpers, each on a CPU of its own; as coll_queue_helpers() does. */
static void coll_msg_queue_helpers(struct coll_msg *lead, u32 nr)
{
	int cpu = raw_smp_processor_id();
	u32 i;

	for (i = 0; i < nr && coll_msg_tryget(lead); i++) {
		struct coll_msg_helper *h = &lead->x->helpers[i];

		h->lead = lead;
		INIT_WORK(&h->work, coll_msg_helper_work);
		queue_work_on(cpu, lead->x->g->user->wq, &h->work);
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
	}
}

/*
 * Large messages: the two ranks copy if they wait in an ioctl, and so do workers, on up to
 * all CPUs together. The requests of both ranks exist: the caller holds a ref.
 */
static void coll_msg_share(struct coll_msg *lead)
{
	struct coll_req *reqs[2] = { lead->x->req, lead->from->x->req };
	struct coll_group *g = lead->x->g;
	u32 want, i;

	want = min_t(u64, div64_u64(lead->bytes, COLL_HELPER_SHARE) + 1,
		     num_online_cpus());
	spin_lock(&g->lock);
	lead->shared = true;
	spin_unlock(&g->lock);
	/* pairs with coll_sleeper_take(), after coll_waiting_leave() has set ->away */
	smp_mb();
	for (i = 0; i < (reqs[0] == reqs[1] ? 1 : 2); i++) {
		struct coll_sleeper *s = reqs[i]->sleeper;

		if (want && s && !READ_ONCE(s->away)) {
			wake_up(&s->wq);
			want--;
		}
	}
	coll_msg_queue_helpers(lead, min_t(u32, want, COLL_MSG_HELPERS));
}

void coll_msg_copy(struct coll_msg *lead)
{
	int ret;

	if (lead->bytes > COLL_SLICE) {
		coll_msg_share(lead);
		return;
	}
	if (coll_msg_ending(lead))
		return;
	ret = coll_msg_copy_range(lead, 0, lead->bytes);
	if (ret)
		coll_msg_failed(lead, ret);
	else
		coll_msg_finish(lead, 0);
}

/* The lead that an end of the request waits for, if it has slices left. Under group->lock. */
static struct coll_msg *coll_msg_to_help_locked(const struct coll_req *req)
{
	const struct coll_exchange *x = req->exchange;

	lockdep_assert_held(&coll_member_group(req->member)->lock);
	if (!x)
		return NULL;
	if (x->recv.state == COLL_MSG_MATCHED && coll_msg_has_slices(&x->recv))
		return x->recv.lead;
	if (x->send.state == COLL_MSG_MATCHED && coll_msg_has_slices(x->send.lead))
		return x->send.lead;
	return NULL;
}

bool coll_msg_can_help(struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);
	bool can;

	spin_lock(&g->lock);
	can = coll_msg_to_help_locked(req);
	spin_unlock(&g->lock);
	return can;
}

void coll_msg_help(struct coll_req *req, struct coll_worker *w)
{
	struct coll_group *g = coll_member_group(req->member);
	struct coll_msg *lead;

	spin_lock(&g->lock);
	lead = coll_msg_to_help_locked(req);
	if (lead && !coll_msg_tryget(lead))
		lead = NULL;
	spin_unlock(&g->lock);
	if (!lead)
		return;
	coll_msg_take_slices(lead, w);
	coll_msg_put(lead);
}
