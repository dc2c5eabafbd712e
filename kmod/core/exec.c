// SPDX-License-Identifier: GPL-2.0
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "exec.h"
#include "group.h"
#include "limits.h"
#include "link.h"
#include "trace.h"

/* Something a step waits for may have happened: let the links look. */
static void coll_exec_kick(struct coll_exec *x)
{
	struct coll_group *g = x->op->group;
	u32 i;

	for (i = 0; i < x->nr_peers; i++) {
		struct coll_exec_peer *p = &x->peers[i];
		struct coll_link *link;

		/* Racy reads: the link's own work looks again. */
		if (READ_ONCE(p->send) == COLL_DEP_NONE &&
		    READ_ONCE(p->recv) == COLL_DEP_NONE)
			continue;
		link = coll_group_link(g, p->peer);
		link->ops->kick(link);
	}
}

/* A step is over; the last one ends the op. The caller holds a use. */
static void coll_step_complete(struct coll_exec *x, struct coll_exec_step *st)
{
	/* pairs with coll_step_is_complete() */
	smp_store_release(&st->complete, true);
	if (atomic_dec_and_test(&x->steps_left) && coll_op_end(x->op, 0))
		coll_op_put_use(x->op);
}

/* Are all receive and local steps before @st complete? */
static bool coll_fence_open(struct coll_exec *x, const struct coll_exec_step *st)
{
	/* pairs with the store below: the steps before are seen as complete */
	u32 i = smp_load_acquire(&x->fence);
	u32 end = st - x->steps;

	for (; i < end; i++) {
		if (x->steps[i].s.kind != COLL_STEP_SEND &&
		    !coll_step_is_complete(&x->steps[i]))
			break;
	}
	/* pairs with the load above */
	smp_store_release(&x->fence, i);
	return i >= end;
}

/* Bytes of @st, from its beginning, that its dependencies allow. */
static u64 coll_step_limit(struct coll_exec *x, const struct coll_exec_step *st,
			   bool *open)
{
	const struct coll_exec_step *dep;

	*open = true;
	if ((st->s.flags & COLL_STEP_FENCE) && !coll_fence_open(x, st)) {
		*open = false;
		return 0;
	}
	if (st->s.dep == COLL_DEP_NONE)
		return st->len;
	dep = &x->steps[st->s.dep];
	if (coll_step_is_complete(dep))
		return st->len;
	if (!st->len)
		*open = false;
	return coll_step_done(dep);
}

/* Operands of a local or receive step. */
static void coll_step_args(const struct coll_exec *x,
			   const struct coll_exec_step *st,
			   struct coll_sweep_args *a)
{
	bool reduce = st->s.action != COLL_ACT_COPY && x->fn;

	a->fn = reduce ? x->fn : NULL;
	a->size = reduce ? x->op->elem : 1;
	a->out = x->out;
	a->nr_out = st->s.flags & COLL_STEP_FINAL ? x->nr_out : 1;
	switch (st->s.action) {
	case COLL_ACT_REDUCE_IN:
	case COLL_ACT_INPUT:
		a->in = x->in;
		a->nr_in = x->nr_in;
		break;
	case COLL_ACT_REDUCE:
		a->in = x->out;
		a->nr_in = 1;
		break;
	default:
		a->in = NULL;
		a->nr_in = 0;
	}
}

void coll_exec_failed(struct coll_exec *x, int err)
{
	struct coll_cause cause;

	if (err == -ESRCH)
		return;
	coll_group_cause(x->op->group, &cause, COLL_CAUSE_MEMORY, -err,
			 COLL_RANK_NONE, x->op->seq);
	cause.node = x->op->group->node;
	coll_group_fail(x->op->group, &cause);
}

static int coll_sweep_slice(struct coll_exec *x, struct coll_exec_step *st,
			    struct coll_sweep *sw, u64 off, u64 len)
{
	struct coll_sweep_args args;

	coll_step_args(x, st, &args);
	trace_coll_segment(x->op->group->id, x->op->seq, x->op->group->node,
			   st - x->steps, st->s.kind, off, len);
	return coll_sweep(sw, &args, NULL, st->start + off, len);
}

/* One local step from its watermark to its end, by a single worker. */
static int coll_run_local(struct coll_exec *x, struct coll_exec_step *st,
			  struct coll_sweep *sw)
{
	u64 slice = round_down(COLL_SLICE, x->op->elem ?: 1);

	while (st->done < st->len) {
		u64 len = min(st->len - st->done, slice);
		int ret;

		if (coll_op_ending(x->op))
			return 0;
		ret = coll_sweep_slice(x, st, sw, st->done, len);
		if (ret)
			return ret;
		coll_step_advance(st, len);
		coll_exec_kick(x);
	}
	coll_step_complete(x, st);
	coll_exec_kick(x);
	return 0;
}

static void coll_run_locals(struct coll_exec *x)
{
	struct coll_sweep *sw = coll_sweep_alloc(x->op->group->nr_local);
	int ret = sw ? 0 : -ENOMEM;
	u32 i;

	for (i = 0; i < x->nr_steps && !ret; i++) {
		struct coll_exec_step *st = &x->steps[i];

		if (st->s.kind == COLL_STEP_LOCAL && !st->complete)
			ret = coll_run_local(x, st, sw);
	}
	coll_sweep_free(sw);
	if (ret)
		coll_exec_failed(x, ret);
}

static void coll_locals_work(struct work_struct *work)
{
	struct coll_helper *h = container_of(work, struct coll_helper, work);

	coll_run_locals(h->x);
	coll_op_put_use(h->x->op);
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
	u64 slice = round_down(COLL_SLICE, x->op->elem ?: 1);
	struct coll_sweep *sw;
	u64 off, len;
	int ret;

	if (!coll_exec_wants_help(x))
		return;
	sw = coll_sweep_alloc(x->op->group->nr_local);
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

static void coll_helper_work(struct work_struct *work)
{
	struct coll_helper *h = container_of(work, struct coll_helper, work);

	coll_exec_help(h->x);
	coll_op_put_use(h->x->op);
}

/*
 * Queue @nr helpers, each on a CPU of its own: an unbound queue may keep what
 * one CPU queues on that CPU, and helpers that take turns are none.
 */
static void coll_queue_helpers(struct coll_exec *x, u32 nr)
{
	int cpu = raw_smp_processor_id();
	u32 i;

	for (i = 0; i < nr && coll_op_use(x->op); i++) {
		x->helpers[i].x = x;
		INIT_WORK(&x->helpers[i].work, coll_helper_work);
		queue_work_on(cpu, coll_wq, &x->helpers[i].work);
		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
	}
}

/* Open a local step that nothing waits for to all who like to help. */
static void coll_share_local(struct coll_exec *x, struct coll_exec_step *st)
{
	struct coll_op *op = x->op;
	u64 shares = div64_u64(st->len, COLL_HELPER_SHARE) + 1;
	struct coll_req *req;
	u32 want;

	want = min_t(u64, shares, num_online_cpus());
	WRITE_ONCE(x->shared, st);
	/* Ranks asleep in ioctl come first: no other thread need wake up. */
	list_for_each_entry(req, &op->reqs, list) {
		if (!want)
			return;
		if (req->waiter) {
			wake_up(req->waiter);
			want--;
		}
	}
	coll_queue_helpers(x, min_t(u32, want, COLL_EXEC_HELPERS));
}

/* Bytes of local steps to do; the step itself if nothing depends on it. */
static u64 coll_local_todo(struct coll_exec *x, struct coll_exec_step **alone)
{
	u64 bytes = 0;
	u32 i;

	*alone = NULL;
	for (i = 0; i < x->nr_steps; i++) {
		struct coll_exec_step *st = &x->steps[i];

		if (st->s.kind == COLL_STEP_LOCAL && !st->complete) {
			bytes += st->len;
			*alone = x->nr_steps == 1 ? st : NULL;
		}
	}
	return bytes;
}

void coll_exec_start(struct coll_op *op)
{
	struct coll_exec *x = op->exec;
	struct coll_exec_step *alone;
	u64 todo;

	if (!atomic_read(&x->steps_left)) {
		if (coll_op_end(op, 0))
			coll_op_put_use(op);
		return;
	}
	/* All links, for frames of a peer that takes the op for another one. */
	coll_links_kick(op->group);
	if (x->nr_peers)
		coll_group_watch(op->group);
	todo = coll_local_todo(x, &alone);
	if (!todo)
		return;
	if (todo <= COLL_SLICE) {
		coll_run_locals(x);
	} else if (alone) {
		coll_share_local(x, alone);
	} else if (coll_op_use(op)) {
		x->helpers[0].x = x;
		INIT_WORK(&x->helpers[0].work, coll_locals_work);
		queue_work(coll_wq, &x->helpers[0].work);
	}
}

u32 coll_exec_awaited(const struct coll_exec *x)
{
	u32 node = COLL_RANK_NONE;
	u32 i;

	for (i = 0; i < x->nr_peers; i++) {
		const struct coll_exec_peer *p = &x->peers[i];
		const struct coll_link *link;

		if (READ_ONCE(p->recv) == COLL_DEP_NONE)
			continue;
		link = coll_group_link(x->op->group, p->peer);
		if (link->ops->posted(link) < x->op->seq)
			return p->peer;
		if (node == COLL_RANK_NONE)
			node = p->peer;
	}
	return node;
}

static struct coll_exec_peer *coll_exec_peer(struct coll_exec *x, u32 peer)
{
	u32 lo = 0, hi = x->nr_peers;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (x->peers[mid].peer < peer)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->nr_peers && x->peers[lo].peer == peer ?
		&x->peers[lo] : NULL;
}

bool coll_exec_needs(struct coll_exec *x, u32 peer)
{
	const struct coll_exec_peer *p = coll_exec_peer(x, peer);

	return p && (p->send != COLL_DEP_NONE || p->recv != COLL_DEP_NONE);
}

struct coll_exec_step *coll_exec_recv_step(struct coll_exec *x, u32 peer,
					   u64 *room, bool *blocked)
{
	struct coll_exec_peer *p = coll_exec_peer(x, peer);
	struct coll_exec_step *st;
	u64 limit;
	bool open;

	*blocked = false;
	if (!p || p->recv == COLL_DEP_NONE)
		return NULL;
	st = &x->steps[p->recv];
	limit = coll_step_limit(x, st, &open);
	*room = limit - st->done;
	*blocked = !open || (st->len && !*room);
	return st;
}

int coll_exec_recv(struct coll_exec *x, struct coll_exec_step *st,
		   struct coll_sweep *sw, const void *data, u32 len)
{
	struct coll_exec_peer *p;
	struct coll_sweep_args args;
	int ret;

	if (len) {
		coll_step_args(x, st, &args);
		ret = coll_sweep(sw, &args, data, st->start + st->done, len);
		if (ret) {
			coll_exec_failed(x, ret);
			return ret;
		}
		coll_step_advance(st, len);
	}
	if (st->done == st->len) {
		p = coll_exec_peer(x, st->s.peer);
		WRITE_ONCE(p->recv, st->next);
		coll_step_complete(x, st);
	}
	coll_exec_kick(x);
	return 0;
}

struct coll_exec_step *coll_exec_send_step(struct coll_exec *x, u32 peer,
					   u32 *avail)
{
	struct coll_exec_peer *p = coll_exec_peer(x, peer);
	u64 segment = x->op->cmd.segment ?: COLL_SEGMENT;
	struct coll_exec_step *st;
	u64 left, have;
	bool open;

	if (!p || p->send == COLL_DEP_NONE)
		return NULL;
	st = &x->steps[p->send];
	have = coll_step_limit(x, st, &open) - st->done;
	left = st->len - st->done;
	if (!open)
		return NULL;
	/* Small frames cost more than waiting for the next bytes does. */
	if (have < left && have < min_t(u64, segment, COLL_SEGMENT_MIN))
		return NULL;
	*avail = min(have, segment);
	return st;
}

struct coll_exec_step *coll_exec_sending(struct coll_exec *x, u32 peer)
{
	return &x->steps[coll_exec_peer(x, peer)->send];
}

void coll_exec_sent(struct coll_exec *x, struct coll_exec_step *st, u32 len)
{
	struct coll_exec_peer *p;

	coll_step_advance(st, len);
	if (st->done < st->len)
		return;
	p = coll_exec_peer(x, st->s.peer);
	WRITE_ONCE(p->send, st->next);
	coll_step_complete(x, st);
}
