// SPDX-License-Identifier: GPL-2.0
/*
 * Steps without a link: sweeps over the vectors of local ranks, and transfers
 * from one local participant to another. Helpers perform them, each those of its
 * participants; a single large sweep is open to everyone.
 */
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "account.h"
#include "exec_priv.h"
#include "group.h"
#include "limits.h"
#include "link.h"
#include "trace.h"

/* Whole elements, about as many bytes as a worker does in one go. */
static u64 coll_slice(const struct coll_exec_step *st)
{
	return COLL_SLICE - COLL_SLICE % st->unit;
}

static struct coll_sweep *coll_exec_sweep(const struct coll_exec *x)
{
	return coll_sweep_alloc(x->op->group->nr_local,
				max(x->reducer.partial, x->reducer.elem));
}

static int coll_sweep_slice(struct coll_exec *x, struct coll_exec_step *st,
			    struct coll_sweep *sw, u64 off, u64 len)
{
	struct coll_sweep_args args;

	coll_step_args(x, st, &args);
	args.stream = x->stream;
	trace_coll_segment(x->op->group->id, x->op->seq, x->op->group->node,
			   st - x->steps, st->s.kind, off, len);
	if (args.reducer) {
		off /= st->unit;
		len /= st->unit;
	}
	return coll_sweep(sw, &args, NULL, off, len);
}

/*
 * Go on with a step as far as it may go. A transfer is both its steps at once: the
 * bytes are read where the sender has them. Return: 0 or an error of the sweep.
 */
static int coll_run_step(struct coll_exec *x, struct coll_exec_step *st,
			 struct coll_sweep *sw)
{
	struct coll_exec_step *from = st->pair == COLL_DEP_NONE ?
		NULL : &x->steps[st->pair];
	bool open, from_open = true;
	u64 limit = coll_step_limit(x, st, &open);

	if (st->prev != COLL_DEP_NONE && !coll_step_is_complete(&x->steps[st->prev]))
		return 0;
	if (from)
		limit = min(limit, coll_step_limit(x, from, &from_open));
	/* The watermark of what was copied may stand inside an element. */
	if (limit < st->len)
		limit -= limit % st->unit;
	if (!open || !from_open)
		return 0;
	while (st->done < limit) {
		u64 len = min(limit - st->done, coll_slice(st));
		int ret;

		if (coll_op_ending(x->op))
			return 0;
		ret = coll_sweep_slice(x, st, sw, st->done, len);
		if (ret)
			return ret;
		coll_step_advance(st, len);
		if (st->done < st->len)
			coll_exec_kick(x);
	}
	if (st->done < st->len)
		return 0;
	if (from)
		coll_step_complete(x, from);
	coll_step_complete(x, st);
	coll_exec_kick(x);
	return 0;
}

/*
 * Look at every step that is left once, up to the first one whose block must wait:
 * what follows is of the same block or a later one. The ones looked at and not
 * complete move up to those not looked at.
 */
static int coll_helper_look(struct coll_helper *h, struct coll_sweep *sw)
{
	u32 i, left = 0, nr = h->nr;
	int ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		struct coll_exec_step *st = &h->x->steps[h->steps[i]];

		if (coll_step_waits(h->x, st))
			break;
		ret = coll_run_step(h->x, st, sw);
		if (!coll_step_is_complete(st))
			h->steps[left++] = h->steps[i];
	}
	memmove(h->steps + i - left, h->steps, left * sizeof(*h->steps));
	h->steps += i - left;
	WRITE_ONCE(h->nr, nr - i + left);
	return ret;
}

/* The one who took @kicks from 0 to 1 does all there is to do, then and later. */
static void coll_helper_run(struct coll_helper *h)
{
	int ret, seen;

	if (!h->sweep)
		h->sweep = coll_exec_sweep(h->x);
	ret = h->sweep ? 0 : -ENOMEM;
	do {
		seen = atomic_read(&h->kicks);
		if (!ret && !coll_op_ending(h->x->op))
			ret = coll_helper_look(h, h->sweep);
	} while (atomic_sub_return(seen, &h->kicks));
	if (ret)
		coll_exec_failed(h->x, ret);
}

static void coll_helper_work(struct work_struct *work)
{
	struct coll_helper *h = container_of(work, struct coll_helper, work);
	struct coll_op *op = h->x->op;
	u64 begin = coll_account_begin();

	coll_helper_run(h);
	coll_account_work(op->group, begin);
	coll_op_put_use(op);
}

void coll_helpers_init(struct coll_exec *x)
{
	u32 h;

	for (h = 0; h < x->nr_helpers; h++)
		INIT_WORK(&x->helpers[h].work, coll_helper_work);
}

void coll_helper_kick(struct coll_helper *h)
{
	if (atomic_inc_return(&h->kicks) != 1)
		return;
	if (h->x->small)
		coll_helper_run(h);
	else if (coll_op_use(h->x->op))
		queue_work(coll_wq, &h->work);
}

bool coll_exec_wants_help(const struct coll_exec *x)
{
	const struct coll_exec_step *st = READ_ONCE(x->shared);

	/* A sleeper must not spin on slices that nobody takes any more. */
	return st && !coll_op_ending(x->op) &&
	       atomic64_read(&x->cursor) < st->len;
}

void coll_exec_help(struct coll_exec *x)
{
	struct coll_exec_step *st = READ_ONCE(x->shared);
	struct coll_sweep *sw;
	u64 off, len, slice;
	int ret;

	if (!coll_exec_wants_help(x))
		return;
	slice = coll_slice(st);
	sw = coll_exec_sweep(x);
	if (!sw) {
		coll_exec_failed(x, -ENOMEM);
		return;
	}
	for (;;) {
		/* Before a slice is taken: what is taken must be done. */
		if (coll_op_ending(x->op) || fatal_signal_pending(current))
			break;
		off = atomic64_fetch_add(slice, &x->cursor);
		if (off >= st->len)
			break;
		len = min(st->len - off, slice);
		ret = coll_sweep_slice(x, st, sw, off, len);
		if (ret) {
			coll_exec_failed(x, ret);
			break;
		}
		if (atomic64_add_return(len, &x->swept) == st->len)
			coll_step_complete(x, st);
	}
	coll_sweep_free(sw);
}

static void coll_share_work(struct work_struct *work)
{
	struct coll_helper *h = container_of(work, struct coll_helper, work);
	struct coll_op *op = h->x->op;
	u64 begin = coll_account_begin();

	coll_exec_help(h->x);
	coll_account_work(op->group, begin);
	coll_op_put_use(op);
}

/* Has a rank been woken that slept on @cpu, or is that ours, and we help? */
static bool coll_cpu_taken(struct coll_exec *x, int cpu, const struct coll_req *end)
{
	const struct coll_req *req;

	list_for_each_entry(req, &x->op->reqs, list) {
		if (req == end)
			break;
		if (req->sleeper && task_cpu(req->sleeper) == cpu)
			return true;
	}
	return false;
}

/*
 * Ranks asleep in ioctl come first, no other thread need wake up; but each on a CPU
 * of its own: helpers that take turns are none, and the scheduler moves nobody who has
 * so little to do. Return: how many are still wanted.
 */
static u32 coll_wake_helpers(struct coll_exec *x, u32 want, bool self)
{
	int here = self ? raw_smp_processor_id() : -1;
	struct coll_req *req;

	list_for_each_entry(req, &x->op->reqs, list) {
		if (!want)
			break;
		if (!req->sleeper || req->sleeper == current ||
		    task_cpu(req->sleeper) == here ||
		    coll_cpu_taken(x, task_cpu(req->sleeper), req))
			continue;
		wake_up(req->waiter);
		want--;
	}
	return want;
}

/*
 * Queue helpers on other CPUs than those of the ranks woken: an unbound queue may keep
 * what one CPU queues on that CPU. If we are the helper of an op before this one, whose
 * plan it has got, our work would wait for ourselves.
 */
static void coll_queue_helpers(struct coll_exec *x, u32 want, bool self)
{
	int cpu = raw_smp_processor_id(), first = cpu;
	u32 i = 0;

	do {
		if (i < COLL_EXEC_HELPERS && current_work() == &x->helpers[i].work) {
			i++;
			want = min(want + 1, (u32)COLL_EXEC_HELPERS);
		}
		if (i == want)
			return;
		if (!(self && cpu == first) && !coll_cpu_taken(x, cpu, NULL)) {
			if (!coll_op_use(x->op))
				return;
			x->helpers[i].x = x;
			INIT_WORK(&x->helpers[i].work, coll_share_work);
			queue_work_on(cpu, coll_wq, &x->helpers[i].work);
			i++;
		}
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
	} while (cpu != first);
}

/*
 * Open a local step that nothing waits for to all who like to help: as many as what is
 * read and written is worth, no more than there are ranks.
 */
static void coll_share_local(struct coll_exec *x, struct coll_exec_step *st)
{
	const struct coll_part *part = &x->parts[st->part];
	u64 bytes = st->len * (part->nr_in + part->nr_out);
	const struct coll_req *req;
	bool self = false;
	u32 want;

	want = min_t(u64, div64_u64(bytes, COLL_HELPER_SHARE),
		     min(num_online_cpus(), x->op->group->nr_local)) ?: 1;
	WRITE_ONCE(x->shared, st);
	list_for_each_entry(req, &x->op->reqs, list)
		self |= req->sleeper == current;
	/* Who posts by ioctl goes on to help as soon as we are back. */
	want = coll_wake_helpers(x, want - self, self);
	coll_queue_helpers(x, min_t(u32, want, COLL_EXEC_HELPERS), self);
}

void coll_local_plan(struct coll_exec *x)
{
	u32 h, i;

	x->todo = 0;
	for (h = 0; h < x->nr_helpers; h++) {
		for (i = 0; i < x->helpers[h].nr; i++)
			x->todo += x->steps[x->helpers[h].steps[i]].len;
	}
	x->small = x->todo <= COLL_SLICE;
	x->alone = NULL;
	if (x->nr_steps == 1 && x->helpers[0].nr && !x->small) {
		x->alone = &x->steps[0];
		x->helpers[0].nr = 0;
	}
}

void coll_exec_start(struct coll_op *op)
{
	struct coll_exec *x = op->exec;
	u32 h;

	if (!atomic_read(&x->steps_left)) {
		if (coll_op_end(op, 0))
			coll_op_put_use(op);
		return;
	}
	if (x->alone) {
		coll_share_local(x, x->alone);
		return;
	}
	/* All links, for frames of a peer that takes the op for another one. */
	coll_links_kick(op->group);
	if (x->nr_peers)
		coll_group_watch(op->group);
	for (h = 0; h < x->nr_helpers; h++)
		if (READ_ONCE(x->helpers[h].nr))
			coll_helper_kick(&x->helpers[h]);
}
