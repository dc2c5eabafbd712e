// SPDX-License-Identifier: GPL-2.0
/* One step: its dependencies, its operands, and its end. */
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "../../pure/collective.h"
#include "../../pure/wire.h"
#include "../group/group.h"
#include "../group/member.h"
#include "exec.h"
#include "exec_step.h"

/* Are all steps of @part before number @end complete? */
static bool coll_drained(struct coll_exec *x, struct coll_part *part, u32 end)
{
	/* pairs with the store below: steps before @i are seen as complete */
	u32 i = smp_load_acquire(&part->drained);

	while (i < end && coll_step_is_complete(&x->steps[i]))
		i++;
	/* pairs with the load above */
	smp_store_release(&part->drained, i);
	return i >= end;
}

/*
 * Are all receive and local steps of the participant before @st, in its block, complete?
 * Steps of other blocks do not count: they have other elements.
 */
static bool coll_fence_open(struct coll_exec *x, struct coll_part *part,
			    const struct coll_exec_step *st)
{
	u32 end = st - x->steps;
	u32 *fence = &part->fences[(end - part->begin) / ((part->end - part->begin) / x->blocks)];
	/* pairs with the store below: steps before @i are seen as complete */
	u32 i = smp_load_acquire(fence);

	for (; i < end; i++) {
		if (x->steps[i].s.kind != COLL_STEP_SEND &&
		    !coll_step_is_complete(&x->steps[i]))
			break;
	}
	/* pairs with the load above */
	smp_store_release(fence, i);
	return i >= end;
}

bool coll_step_waits(struct coll_exec *x, const struct coll_exec_step *st)
{
	return st->after && !coll_drained(x, &x->parts[st->part], st->after);
}

u64 coll_step_limit(struct coll_exec *x, const struct coll_exec_step *st, bool *open)
{
	struct coll_part *part = &x->parts[st->part];
	const struct coll_exec_step *dep;
	u64 done;

	*open = true;
	if (((st->s.flags & COLL_STEP_FENCE) && !coll_fence_open(x, part, st)) ||
	    coll_step_waits(x, st)) {
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
	done = coll_step_done(dep);
	return dep->unit == st->unit ? done : done / dep->unit * st->unit;
}

/* The vectors that a step writes, in elements of @unit bytes. */
static struct coll_operands coll_step_out(const struct coll_exec *x,
					  const struct coll_exec_step *st, u32 unit)
{
	const struct coll_part *part = &x->parts[st->part];

	if (st->s.flags & COLL_STEP_FINAL)
		return (struct coll_operands){
			part->out, part->nr_out, unit, st->out_at
		};
	return (struct coll_operands){ st->dst.vec, 1, unit, st->dst.at };
}

bool coll_step_keeps_first(const struct coll_part *part, const struct coll_exec_step *st)
{
	return st->s.action == COLL_ACT_INPUT && st->s.flags & COLL_STEP_FINAL &&
	       part->nr_in == 1 && part->nr_out && part->in[0].buf == part->out[0].buf &&
	       part->in[0].start + st->in_at == part->out[0].start + st->out_at;
}

/* Operands of a step that copies: bytes. */
static void coll_copy_args(const struct coll_exec *x,
			   const struct coll_exec_step *st,
			   struct coll_sweep_args *a)
{
	const struct coll_part *part = &x->parts[st->part];

	*a = (struct coll_sweep_args){
		.recv_size = st->wire ? st->unit : 1,
		.wire = st->wire ? &x->reducer.wire : NULL,
		.out = coll_step_out(x, st, st->wire ? x->op->elem : 1),
	};
	/* Do not write the first output: it may be read-only, or have another page now (windows). */
	if (coll_step_keeps_first(part, st)) {
		a->out.vec++;
		a->out.nr--;
	}
	if (st->s.action == COLL_ACT_INPUT)
		a->in[0] = (struct coll_operands){
			part->in, part->nr_in, 1, st->in_at
		};
	else if (st->src.vec)
		a->in[0] = (struct coll_operands){ st->src.vec, 1, 1, st->src.at };
}

/* Operands of a fold, in order: @new is first, unless the step says that it is last. */
static void coll_fold_args(const struct coll_exec_step *st,
			   struct coll_sweep_args *a, struct coll_operands new,
			   struct coll_operands old)
{
	bool last = st->s.flags & COLL_STEP_LAST;

	a->in[0] = last ? old : new;
	a->in[1] = last ? new : old;
	a->recv_last = last;
}

void coll_step_args(const struct coll_exec *x, const struct coll_exec_step *st,
		    struct coll_sweep_args *a)
{
	const struct coll_part *part = &x->parts[st->part];
	const struct coll_reducer *r = &x->reducer;
	struct coll_operands input = { part->in, part->nr_in, r->elem, st->in_at };
	const struct coll_place *old = st->with.vec ? &st->with : &st->dst;
	struct coll_operands there = { old->vec, 1, r->partial, old->at };
	/* @new has no vector if the bytes come from a link. */
	struct coll_operands new = { st->src.vec, !!st->src.vec, r->partial, st->src.at };

	if (!r->part || (!st->finish && (st->s.action == COLL_ACT_COPY ||
					 st->s.action == COLL_ACT_MOVE))) {
		coll_copy_args(x, st, a);
		return;
	}
	*a = (struct coll_sweep_args){
		.reducer = r,
		.final = st->s.flags & COLL_STEP_FINAL,
		.scale = part->scale,
		.recv_size = st->wire ? st->unit : r->partial,
		.wire = st->wire ? &r->wire : NULL,
	};
	a->out = coll_step_out(x, st, a->final ? r->elem : r->partial);
	switch (st->s.action) {
	case COLL_ACT_INPUT:
		a->in[0] = input;
		break;
	case COLL_ACT_COPY:
	case COLL_ACT_MOVE:
		a->in[0] = new;
		a->nr_folded = 1;
		break;
	case COLL_ACT_REDUCE_IN:
		coll_fold_args(st, a, new, input);
		a->nr_folded = 1;
		break;
	case COLL_ACT_FOLD_INPUT:
		coll_fold_args(st, a, input, there);
		a->nr_folded = 1;
		break;
	default:
		coll_fold_args(st, a, new, there);
		a->nr_folded = 2;
	}
	if (x->in_order || a->nr_folded == 2)
		return;
	/* The functions of these reductions need partial results first; any order is correct. */
	a->recv_last = false;
	if (a->in[0].vec == part->in && a->in[1].nr)
		swap(a->in[0], a->in[1]);
}

void coll_step_complete(struct coll_exec *x, struct coll_exec_step *st)
{
	/* pairs with coll_step_is_complete() */
	smp_store_release(&st->complete, true);
	if (atomic_dec_and_test(&x->steps_left) && coll_op_end(x->op, 0))
		coll_op_put(x->op);
}

u64 coll_exec_signature(const struct coll_exec *x, const struct coll_exec_step *st)
{
	u32 flags = coll_kind_of(x->op->cmd.collective)->flags;

	return flags & COLL_KIND_PRIVATE ? coll_digest(x->op->sig, st->len) : x->op->sig;
}

/* Is the caller a thread of the process of a rank? */
static bool coll_exec_is_mine(const struct coll_exec *x)
{
	const struct coll_req *req;

	list_for_each_entry(req, &x->op->reqs, list)
		if (coll_member_is_mine(req->member))
			return true;
	return false;
}

void coll_exec_failed(struct coll_exec *x, int err)
{
	if (err == -ESRCH) {
		/*
		 * The death of a rank is reported elsewhere. But a thread that only shares the
		 * memory of a rank may be killed: nothing reports this, and the op would never end.
		 */
		if (!fatal_signal_pending(current) || coll_exec_is_mine(x))
			return;
		err = -EFAULT;
	}
	coll_group_no_memory(x->op->group, err, x->op->seq);
}
