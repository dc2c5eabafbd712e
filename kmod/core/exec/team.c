// SPDX-License-Identifier: GPL-2.0
/*
 * Any number of helpers may work on large sweeps that no step waits for: threads of ranks first,
 * then workers, each on a CPU of its own.
 */
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "../group/account.h"
#include "../group/group.h"
#include "../group/ref.h"
#include "../limits.h"
#include "../worker.h"
#include "exec.h"
#include "exec_step.h"
#include "helper.h"
#include "team.h"
#include "sleeper.h"
#include "slices.h"

bool coll_exec_wants_help(const struct coll_exec *x)
{
	/* No thread takes slices of an op that is ending, so no sleeper may stay awake for them. */
	return !coll_op_ending(x->op) && (u64)atomic64_read(&x->cursor) < READ_ONCE(x->team);
}

/* All slices are done: complete the steps. */
static void coll_team_complete(struct coll_exec *x)
{
	u32 i;

	for (i = 0; i < x->nr_steps; i++) {
		if (!x->steps[i].idle)
			coll_step_complete(x, &x->steps[i]);
		coll_steps_pause(i);
	}
}

bool coll_exec_help(struct coll_exec *x, struct coll_worker *w, const bool *done)
{
	/* pairs with coll_team_start(): the map of the slices is set up */
	u64 nr = smp_load_acquire(&x->team), i;
	struct coll_slices s = { .nid = NUMA_NO_NODE };
	struct coll_sweep *sw;
	bool more = false;
	int ret;

	/* @nr may be 0: another op wanted help, and this one has been opened after the load. */
	if (!nr || !coll_exec_wants_help(x))
		return false;
	sw = coll_exec_sweep(x);
	if (!sw) {
		coll_exec_failed(x, -ENOMEM);
		return false;
	}
	for (;;) {
		/* Check before taking a slice: a slice that is taken must be done. */
		if (coll_op_ending(x->op) || signal_pending(current) ||
		    (done && READ_ONCE(*done)))
			break;
		more = coll_worker_is_over(w);
		if (more)
			break;
		if ((u64)atomic64_fetch_inc(&x->cursor) >= nr)
			break;
		i = coll_slices_take(x, &s);
		if (WARN_ON_ONCE(i >= nr))
			break;
		ret = coll_slice_run(x, sw, i);
		if (ret) {
			coll_exec_failed(x, ret);
			break;
		}
		coll_worker_moved(w);
		if ((u64)atomic64_inc_return(&x->swept) == nr)
			coll_team_complete(x);
	}
	coll_sweep_free(sw);
	return more;
}

static void coll_team_work(struct work_struct *work)
{
	struct coll_helper *h = container_of(work, struct coll_helper, work);
	struct coll_op *op = h->x->op;
	struct coll_group *g = op->group;
	struct coll_worker w;
	bool more;

	coll_group_get(g);
	coll_worker_begin(&w, g->user, &g->error);
	more = coll_exec_help(h->x, &w, NULL);
	coll_account_work(g, w.begin);
	if (more)
		queue_work(g->user->wq, &h->work);	/* with the same ref */
	else
		coll_op_put(op);
	coll_worker_end(&w);
	coll_group_put(g);
}

/* CPU of a rank's thread that helps when it is woken; -1: there is no such thread. */
static int coll_sleeper_cpu(const struct coll_req *req)
{
	const struct coll_sleeper *s = req->sleeper;

	return s && !READ_ONCE(s->away) ? (int)task_cpu(s->task) : -1;
}

static bool coll_sleeper_is_me(const struct coll_req *req)
{
	const struct coll_sleeper *s = req->sleeper;

	return s && !READ_ONCE(s->away) && s->task == current;
}

/* Does a request before @end have a thread on @cpu? It has been woken, or is this thread. */
static bool coll_cpu_taken(struct coll_exec *x, int cpu, const struct coll_req *end)
{
	const struct coll_req *req;

	list_for_each_entry(req, &x->op->reqs, list) {
		if (req == end)
			break;
		if (coll_sleeper_cpu(req) == cpu)
			return true;
	}
	return false;
}

/* Does a rank have a thread on @cpu that helps without being woken? */
static bool coll_cpu_is_awake(struct coll_exec *x, int cpu)
{
	const struct coll_req *req;

	list_for_each_entry(req, &x->op->reqs, list)
		if (coll_sleeper_cpu(req) == cpu && READ_ONCE(req->sleeper->awake))
			return true;
	return false;
}

/*
 * Wake threads of ranks first: then fewer workers are needed. Wake only one thread on each CPU: two
 * on one CPU do no more than one, and the scheduler does not move threads that have so little to
 * do. Return: how many helpers are still wanted.
 */
static u32 coll_wake_helpers(struct coll_exec *x, u32 want, bool self)
{
	int cpu, here = self ? raw_smp_processor_id() : -1;
	struct coll_req *req;

	list_for_each_entry(req, &x->op->reqs, list) {
		if (!want)
			break;
		cpu = coll_sleeper_cpu(req);
		if (cpu < 0 || cpu == here || coll_sleeper_is_me(req) ||
		    coll_cpu_taken(x, cpu, req))
			continue;
		/* A woken thread would share the CPU with the thread that is awake there. */
		if (!coll_cpu_is_awake(x, cpu))
			wake_up(&req->sleeper->wq);
		want--;
	}
	return want;
}

/**
 * struct coll_helping - helpers being queued
 * @x: schedule whose steps are open
 * @next: index of the helper to be used next
 * @want: queue helpers until there are so many, not counting those that are skipped
 * @here: CPU of the calling thread, if it helps; or -1
 */
struct coll_helping {
	struct coll_exec *x;
	u32 next;
	u32 want;
	int here;
};

/*
 * Are more helpers wanted? This thread may itself run the work item of a helper, for an earlier op
 * whose plan this op has got. This item can run again only after it has returned, so skip it:
 * another item begins earlier. With one rank there is no other item.
 */
static bool coll_wants_helper(struct coll_helping *h)
{
	struct coll_exec *x = h->x;

	if (h->next + 1 < x->most_helpers && current_work() == &x->helpers[h->next].work) {
		x->helpers[h->next++].cpu = -1;
		x->skipped++;
	}
	return h->next < min(h->want + x->skipped, x->most_helpers);
}

/* Is @cpu without a rank or a worker that helps? An unbound queue may run an item where queued. */
static bool coll_cpu_is_free(const struct coll_helping *h, int cpu)
{
	u32 i;

	for (i = 0; i < h->next; i++)
		if (h->x->helpers[i].cpu == cpu)
			return false;
	return cpu != h->here && !coll_cpu_taken(h->x, cpu, NULL);
}

/* Return: false if the op has ended. */
static bool coll_queue_helper(struct coll_helping *h, int cpu)
{
	struct coll_helper *helper = &h->x->helpers[h->next];

	if (!coll_op_tryget(h->x->op))
		return false;
	helper->x = h->x;
	helper->cpu = cpu;
	INIT_WORK(&helper->work, coll_team_work);
	queue_work_on(cpu, h->x->op->group->user->wq, &helper->work);
	h->next++;
	return true;
}

/* Does a rank help on a CPU of the node? All sleepers are woken before more helpers are queued. */
static bool coll_node_is_helped(const struct coll_helping *h, int nid)
{
	const struct coll_req *req;
	int cpu;

	if (h->here >= 0 && cpu_to_node(h->here) == nid)
		return true;
	list_for_each_entry(req, &h->x->op->reqs, list) {
		cpu = coll_sleeper_cpu(req);
		if (cpu >= 0 && cpu_to_node(cpu) == nid)
			return true;
	}
	return false;
}

/* Queue a helper on each node that has slices but no helper. Return: false if the op has ended. */
static bool coll_queue_near(struct coll_helping *h)
{
	nodemask_t nodes;
	int nid, cpu;

	coll_slices_nodes(h->x, &nodes);
	for_each_node_mask(nid, nodes) {
		if (!coll_wants_helper(h))
			break;
		if (coll_node_is_helped(h, nid))
			continue;
		for_each_cpu_and(cpu, cpumask_of_node(nid), cpu_online_mask)
			if (coll_cpu_is_free(h, cpu))
				break;
		if (cpu < nr_cpu_ids && !coll_queue_helper(h, cpu))
			return false;
	}
	return true;
}

/* Return: false if the op has ended. */
static bool coll_queue_anywhere(struct coll_helping *h, int first)
{
	int cpu;

	for_each_cpu_wrap(cpu, cpu_online_mask, first) {
		if (!coll_wants_helper(h))
			break;
		if (coll_cpu_is_free(h, cpu) && !coll_queue_helper(h, cpu))
			return false;
	}
	return true;
}

/*
 * Queue helpers until there are @want, each on a CPU of its own: with several memory nodes first on
 * nodes that have the vectors, then on any CPU, from this one on. Return: false if the op has ended.
 */
static bool coll_queue_helpers(struct coll_exec *x, u32 want, bool self)
{
	int first = raw_smp_processor_id();
	struct coll_helping h = {
		.x = x, .next = x->queued, .want = want, .here = self ? first : -1,
	};

	if (x->taken && !coll_queue_near(&h))
		return false;
	if (!coll_queue_anywhere(&h, first))
		return false;
	x->queued = h.next;
	return true;
}

/* Threads of ranks that help with the op, though no request of it has a sleeper. */
static u32 coll_team_hands(const struct coll_exec *x)
{
	struct coll_group *g = x->op->group;

	return g->watch && g->watch->hands ? g->watch->hands(g, !coll_op_is_small(x->op)) : 0;
}

/* Number of workers for an op that wants @want threads, while @hands threads of ranks help. */
static u32 coll_team_workers(const struct coll_exec *x, u32 want, u32 hands)
{
	u32 cpus = num_online_cpus(), spare = cpus - min(cpus, x->op->group->nr_local);
	u32 workers = min(want - min(want, hands), spare);

	/* These @hands may all be busy with a large op that this small op overtakes. */
	return coll_op_is_small(x->op) ? max(workers, 1U) : workers;
}

void coll_team_staff(struct coll_exec *x)
{
	u32 want = xchg(&x->staff, 0);

	if (want)
		coll_queue_helpers(x, want, false);
}

/*
 * Queue workers, @want in all. If a rank helps, leave one CPU for each rank: a worker there would
 * delay the work of the rank, for example a post that the next op waits for.
 */
static void coll_team_queue(struct coll_exec *x, u32 want, bool self)
{
	u32 hands = coll_team_hands(x);

	if (!hands) {
		coll_queue_helpers(x, want, self);
		return;
	}
	if (!coll_queue_helpers(x, coll_team_workers(x, want, hands), self))
		return;
	/* pairs with the xchg() of coll_team_staff(): it sees ->queued */
	smp_store_release(&x->staff, want);
	/* The threads that help may have left before they could see ->staff. */
	if (!coll_team_hands(x))
		coll_team_staff(x);
}

/* Count an op that is about to be open to helpers. coll_op_leave() uncounts it. */
static void coll_team_count(struct coll_op *op)
{
	struct coll_group *g = op->group;

	spin_lock(&g->lock);
	WRITE_ONCE(g->nr_open, g->nr_open + 1);
	spin_unlock(&g->lock);
}

/*
 * Open local steps that no step waits for to helpers. Their number follows from the bytes that are
 * read and written, and is limited to the number of ranks and of CPUs.
 */
void coll_team_start(struct coll_exec *x)
{
	const struct coll_req *req;
	bool self = false;
	u32 want;
	u64 nr;

	want = min_t(u64, div64_u64(coll_slices_touched(x), COLL_HELPER_SHARE),
		     min(num_online_cpus(), x->op->group->nr_local)) ?: 1;
	nr = coll_slices_open(x);
	x->queued = 0;
	x->skipped = 0;
	x->staff = 0;
	coll_team_count(x->op);
	/* pairs with coll_exec_help() */
	smp_store_release(&x->team, nr);
	/*
	 * Pairs with coll_waiting_leave(), coll_waiting_sleep() and coll_progress_finish(): either
	 * this thread sees that the other one is away or asleep, or the other one sees ->team.
	 */
	smp_mb();
	list_for_each_entry(req, &x->op->reqs, list)
		self |= coll_sleeper_is_me(req);
	/* A caller that posts by ioctl helps as soon as this function has returned. */
	want = coll_wake_helpers(x, want - self, self);
	coll_team_queue(x, min(want, x->most_helpers), self);
}
