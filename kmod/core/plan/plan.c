// SPDX-License-Identifier: GPL-2.0
/* Lays a schedule out over the buffers of an op. exec.c and exec_local.c run the plan. */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../pure/schedule.h"
#include "../exec/exec.h"
#include "../exec/exec_local.h"
#include "../exec/helper.h"
#include "../exec/nt_store.h"
#include "../group/fusion.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "plan.h"
#include "plan_alias.h"
#include "plan_fuse.h"
#include "plan_keep.h"
#include "plan_pass.h"
#include "plan_peers.h"
#include "plan_place.h"
#include "plan_priv.h"
#include "plan_tally.h"
#include "support.h"

/*
 * The rank whose input is the result, if there is such a rank: the root of a broadcast; the last
 * rank for replace; the first rank for no_op. A broadcast from that rank gives the same result,
 * however the ranks are distributed to nodes.
 */
static u32 coll_plan_source(const struct coll_op *op)
{
	if (op->cmd.collective == COLL_BROADCAST)
		return op->cmd.root;
	if (op->cmd.collective != COLL_ALLREDUCE)
		return COLL_RANK_NONE;
	if (op->cmd.op == COLL_OP_REPLACE)
		return op->group->size - 1;
	return op->cmd.op == COLL_OP_NO_OP ? 0 : COLL_RANK_NONE;
}

/* Set up the operator, and the values of the communicator that it uses. */
static int coll_plan_reducer(struct coll_plan *p)
{
	const struct coll_cmd *cmd = &p->op->cmd;
	const struct coll_group *g = p->op->group;
	struct coll_reducer *r = &p->x->reducer;

	coll_reducer_setup(r, cmd->op, cmd->dtype, coll_is_wide(cmd));
	if (!r->part) {
		r->elem = p->op->elem;
		r->partial = r->elem;
	}
	r->divisor = p->op->divisor;
	coll_reducer_scale(r, cmd->dtype, &p->op->scaling);
	if (coll_wire_type(cmd))
		coll_reducer_wire(r, coll_wire_type(cmd));
	if (cmd->op == COLL_OP_PREMULSUM) {
		p->x->scales = kvcalloc(g->nr_local, sizeof(*p->x->scales),
					GFP_KERNEL_ACCOUNT);
		if (!p->x->scales)
			return -ENOMEM;
	}
	p->x->in_order = r->partial == r->elem && !r->widened && !p->x->scales;
	return 0;
}

/* Add the input and the output of one more rank of a participant. */
static void coll_plan_rank(struct coll_plan *p, struct coll_part *part,
			   struct coll_req *req)
{
	bool one = p->kind->flags & COLL_KIND_ONE_BUFFER;
	u32 rank = req->member->rank;
	struct coll_vec *in = one ? &req->out : &req->in;

	part->req = req;
	if (in->buf && (p->source == COLL_RANK_NONE || p->source == rank)) {
		if (part->scale)
			part->scale[part->nr_in] = req->cmd.scalar;
		part->in[part->nr_in++] = *in;
	}
	if (!req->out.buf)
		return;
	part->out[part->nr_out++] = req->out;
	/* The first output is the one that is sent: for a broadcast, that of the root. */
	if (one && p->source == rank)
		swap(part->out[0], part->out[part->nr_out - 1]);
}

/* Set the vectors of the participants of this node. The plan may be one of an earlier op. */
static void coll_plan_vecs(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	const struct coll_group *g = p->op->group;
	bool ranks = p->kind->flags & COLL_KIND_RANKS;
	struct coll_req *req;
	u32 i;

	for (i = 0; i < x->nr_parts; i++) {
		struct coll_part *part = &x->parts[i];

		part->in = &x->vecs[i];
		part->out = &x->vecs[g->nr_local + i];
		part->scale = x->scales ? &x->scales[i] : NULL;
		part->nr_in = 0;
		part->nr_out = 0;
	}
	i = 0;
	list_for_each_entry(req, &p->op->reqs, list) {
		struct coll_part *part = &x->parts[ranks ? i : 0];

		part->id = ranks ? req->member->rank : g->node;
		coll_plan_rank(p, part, req);
		i++;
	}
	if (x->pass)
		coll_pass_vecs(p);
}

/* Set up the participants of this node and their vectors. */
static int coll_plan_parts(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	const struct coll_group *g = p->op->group;
	bool ranks = p->kind->flags & COLL_KIND_RANKS;

	p->n = ranks ? g->size : g->nr_nodes;
	p->source = coll_plan_source(p->op);
	p->root = p->source == COLL_RANK_NONE ? p->op->cmd.root : p->source;
	/* User space chooses the numbers of nodes: rank 0 may be on any node. */
	if (!ranks)
		p->root = p->source != COLL_RANK_NONE || p->kind->flags & COLL_KIND_ROOTED ?
			g->node_of[p->root] : 0;
	x->nr_parts = ranks ? g->nr_local : 1;
	x->parts = kvcalloc(x->nr_parts, sizeof(*x->parts), GFP_KERNEL_ACCOUNT);
	x->vecs = kvcalloc(2 * g->nr_local, sizeof(*x->vecs), GFP_KERNEL_ACCOUNT);
	if (!x->parts || !x->vecs)
		return -ENOMEM;
	coll_plan_vecs(p);
	return 0;
}

/*
 * The blocks of a user's vector may have gaps between them. So for collectives with blocks, a step
 * over several chunks becomes one step for each chunk. Return: number of steps that @s becomes.
 */
static u32 coll_plan_width(const struct coll_plan *p, const struct coll_step *s)
{
	return p->kind->flags & COLL_KIND_BLOCKS ? max(s->nr_chunks, 1U) : 1;
}

/* Emit the steps of participant @id. The caller frees them, also on errors. */
static int coll_plan_emit(struct coll_plan *p, u32 id, struct coll_emit *e)
{
	int ret;

	e->radix = coll_chosen_radix(p->op, p->alg);
	e->wide = coll_plan_is_wide(p);
	ret = p->alg->emit(e, p->n, id, p->root);
	if (ret)
		return ret;
	e->cap = e->nr;
	e->nr = 0;
	e->round = 0;
	e->steps = kvcalloc(e->cap ?: 1, sizeof(*e->steps), GFP_KERNEL_ACCOUNT);
	if (!e->steps)
		return -ENOMEM;
	return p->alg->emit(e, p->n, id, p->root);
}

/* Make the steps of @part: in each block, coll_plan_width() steps for each emitted step. */
static void coll_plan_unfold(struct coll_plan *p, u32 part, const struct coll_emit *e,
			     const u32 *start)
{
	struct coll_exec *x = p->x;
	u32 begin = x->parts[part].begin;
	u32 per_block = start[e->cap];
	u32 b, i, k;

	for (b = 0; b < x->blocks; b++) {
		for (i = 0; i < e->cap; i++) {
			u32 width = coll_plan_width(p, &e->steps[i]);

			for (k = 0; k < width; k++) {
				u32 at = begin + b * per_block + start[i] + k;
				struct coll_exec_step *st = &x->steps[at];

				st->s = e->steps[i];
				st->part = part;
				if (width > 1) {
					st->s.chunk += k;
					st->s.from += k;
					st->s.nr_chunks = 1;
				}
				if (st->s.dep != COLL_DEP_NONE)
					st->s.dep = begin + b * per_block +
						    min(start[st->s.dep] + k,
							start[st->s.dep + 1] - 1);
				coll_plan_place(p, at, b);
			}
		}
		cond_resched();
	}
}

/* Emit and lay out the steps of all participants of this node. */
static int coll_plan_steps(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	struct coll_emit *e;
	u32 **start;
	u32 i, k, nr;
	int ret = -ENOMEM;

	e = kvcalloc(x->nr_parts, sizeof(*e), GFP_KERNEL_ACCOUNT);
	start = kvcalloc(x->nr_parts, sizeof(*start), GFP_KERNEL_ACCOUNT);
	if (!e || !start)
		goto out;
	for (i = 0; i < x->nr_parts; i++) {
		ret = coll_plan_emit(p, x->parts[i].id, &e[i]);
		if (ret)
			goto out;
		ret = -ENOMEM;
		start[i] = kvcalloc(e[i].cap + 1, sizeof(u32), GFP_KERNEL_ACCOUNT);
		if (!start[i])
			goto out;
		for (k = 0; k < e[i].cap; k++)
			start[i][k + 1] = start[i][k] +
					  coll_plan_width(p, &e[i].steps[k]);
		if (check_mul_overflow(start[i][e[i].cap], x->blocks, &nr) ||
		    check_add_overflow(x->nr_steps, nr, &nr) ||
		    nr > COLL_MAX_STEPS || nr * sizeof(*x->steps) > p->room)
			goto out;
		x->parts[i].begin = x->nr_steps;
		x->parts[i].end = nr;
		x->nr_steps = nr;
	}
	x->steps = kvcalloc(x->nr_steps ?: 1, sizeof(*x->steps), GFP_KERNEL_ACCOUNT);
	x->fences = kvcalloc(x->nr_parts, array_size(x->blocks, sizeof(u32)),
			     GFP_KERNEL_ACCOUNT);
	if (!x->steps || !x->fences)
		goto out;
	for (i = 0; i < x->nr_parts; i++)
		x->parts[i].fences = x->fences + i * x->blocks;
	for (i = 0; i < x->nr_parts; i++)
		coll_plan_unfold(p, i, &e[i], start[i]);
	ret = 0;
out:
	for (i = 0; i < x->nr_parts; i++) {
		if (e)
			kvfree(e[i].steps);
		if (start)
			kvfree(start[i]);
	}
	kvfree(start);
	kvfree(e);
	return ret;
}

static bool coll_step_is_local(const struct coll_exec_step *st)
{
	return st->s.kind == COLL_STEP_LOCAL ||
	       (st->s.kind == COLL_STEP_RECV && st->pair != COLL_DEP_NONE);
}

/* Collect the local steps of helper @h, block by block: later blocks wait for earlier ones. */
static void coll_plan_helper(struct coll_plan *p, struct coll_helper *helper, u32 h)
{
	struct coll_exec *x = p->x;
	u32 b, i, k;

	for (b = 0; b < x->blocks; b++) {
		for (k = h; k < x->nr_parts; k += x->nr_helpers) {
			const struct coll_part *part = &x->parts[k];
			u32 per_block = (part->end - part->begin) / x->blocks;
			u32 from = part->begin + b * per_block;

			for (i = from; i < from + per_block; i++) {
				if (!x->steps[i].idle &&
				    coll_step_is_local(&x->steps[i]))
					helper->steps[helper->nr++] = i;
				coll_steps_pause(i);
			}
		}
	}
}

/* Distribute the local steps: one helper gets all local steps of a participant. */
static void coll_plan_helpers(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	u32 h, nr = 0;

	for (h = 0; h < x->nr_helpers; h++) {
		x->helpers[h].x = x;
		x->helpers[h].steps = x->local + nr;
		x->helpers[h].nr = 0;
		atomic_set(&x->helpers[h].kicks, 0);
		coll_plan_helper(p, &x->helpers[h], h);
		nr += x->helpers[h].nr;
	}
	coll_helpers_init(x);
}

static int coll_plan_local(struct coll_plan *p)
{
	struct coll_exec *x = p->x;

	x->most_helpers = min(p->op->group->nr_local, num_online_cpus());
	x->local = kvmalloc_array(x->nr_steps ?: 1, sizeof(*x->local),
				  GFP_KERNEL_ACCOUNT);
	x->helpers = kvcalloc(x->most_helpers, sizeof(*x->helpers), GFP_KERNEL_ACCOUNT);
	if (!x->local || !x->helpers)
		return -ENOMEM;
	x->nr_helpers = min3(x->nr_parts, x->most_helpers, (u32)COLL_EXEC_DEALT);
	return 0;
}

/* Mark all steps as still to be done. */
static void coll_plan_reset(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	int left = 0;
	u32 i;

	for (i = 0; i < x->nr_steps; i++) {
		struct coll_exec_step *st = &x->steps[i];

		st->done = st->idle ? st->len : 0;
		st->complete = st->idle;
		left += !st->idle;
		coll_steps_pause(i);
	}
	atomic_set(&x->steps_left, left);
	for (i = 0; i < x->nr_parts; i++) {
		struct coll_part *part = &x->parts[i];
		u32 b, per_block = (part->end - part->begin) / x->blocks;

		for (b = 0; b < x->blocks; b++)
			part->fences[b] = part->begin + b * per_block;
		part->drained = part->begin;
	}
	for (i = 0; i < x->nr_peers; i++) {
		x->peers[i].send = x->peers[i].first_send;
		x->peers[i].recv = x->peers[i].first_recv;
		x->peers[i].sent = 0;
		x->peers[i].freed = 0;
		x->peers[i].freeing = x->peers[i].first_send;
		x->peers[i].freeing_at = 0;
	}
	x->team = 0;
	atomic64_set(&x->cursor, 0);
	atomic64_set(&x->swept, 0);
	coll_plan_helpers(p);
	coll_local_plan(x);
}

/* May results be stored past the caches? Not if outputs are inputs, or if later steps read them. */
static bool coll_plan_may_stream(const struct coll_plan *p)
{
	const struct coll_exec *x = p->x;
	const struct coll_req *req;
	u32 i;

	if (x->nr_peers || (x->reducer.part && x->nr_steps > 1 && !x->pass))
		return false;
	list_for_each_entry(req, &p->op->reqs, list)
		if (req->cmd.flags & COLL_CMD_INPLACE)
			return false;
	for (i = 0; i < x->nr_steps; i++) {
		if (x->steps[i].s.dep != COLL_DEP_NONE ||
		    x->steps[i].s.flags & COLL_STEP_FENCE)
			return false;
		coll_steps_pause(i);
	}
	return true;
}

/*
 * Decide whether this op stores results past the caches. The outputs of a large op evict inputs that
 * are still to be read. If other ops wait, they evict the outputs before the ranks read them: so
 * all bytes in flight count. Short vectors have too few whole cache lines.
 */
static void coll_plan_stream(struct coll_exec *x)
{
	const struct coll_req *req;
	u64 bytes = 0, in_flight = 0;
	u32 vectors = 0;

	x->stream = false;
	if (!x->may_stream)
		return;
	list_for_each_entry(req, &x->op->reqs, list) {
		bytes += req->in_bytes + req->bytes;
		in_flight += atomic64_read(&req->member->in_flight);
		vectors += 2 * (req->fusion ? req->fusion->nr : 1);
	}
	x->stream = max(bytes, in_flight) >= coll_nt_from() &&
		    bytes >= (u64)vectors * COLL_NT_VECTOR;
}

/* Make a plan from the schedule of an algorithm. */
static int coll_plan_schedule(struct coll_plan *p)
{
	int ret;

	p->chunks = p->alg->chunks(p->n);
	p->tmp = (p->alg->tmp ? p->alg->tmp(p->n) : 0) + coll_plan_is_wide(p);
	ret = coll_plan_marks(p);
	if (ret)
		return ret;
	ret = coll_plan_blocks(p);
	if (ret)
		return ret;
	ret = coll_plan_steps(p);
	if (ret)
		return ret;
	coll_plan_aliases(p);
	ret = coll_plan_pairs(p);
	if (ret)
		return ret;
	return coll_plan_scratch(p);
}

static int coll_plan_all(struct coll_plan *p)
{
	int ret;

	ret = coll_plan_reducer(p);
	if (ret)
		return ret;
	p->x->pass = coll_pass_fits(p);
	ret = coll_plan_parts(p);
	if (ret)
		return ret;
	p->alg = coll_choose_algorithm(p->op, p->n);
	if (!p->alg)
		return -EINVAL;
	ret = p->x->pass ? coll_pass_steps(p) : coll_plan_schedule(p);
	if (ret)
		return ret;
	ret = coll_plan_check(p);
	if (ret)
		return ret;
	ret = coll_plan_peers(p);
	if (ret)
		return ret;
	p->x->may_stream = coll_plan_may_stream(p);
	coll_plan_tally(p);
	coll_plan_label(p);
	return coll_plan_local(p);
}

/* Lay a plan that was made for another op over the vectors of this one. */
static int coll_plan_again(struct coll_plan *p)
{
	p->x->op = p->op;
	p->x->reducer.divisor = p->op->divisor;
	p->x->reducer.after.divisor = p->op->divisor;
	p->source = coll_plan_source(p->op);
	coll_plan_vecs(p);
	return coll_plan_check(p);
}

int coll_plan_prepare(struct coll_op *op, u64 room)
{
	struct coll_plan p = {
		.op = op, .kind = coll_kind_of(op->cmd.collective), .room = room,
	};
	struct coll_group *g = op->group;
	u64 memory;
	int ret;

	p.x = coll_plans_take(op);
	if (p.x) {
		ret = coll_plan_again(&p);
	} else {
		p.x = kzalloc(sizeof(*p.x), GFP_KERNEL_ACCOUNT);
		if (!p.x)
			return -ENOMEM;
		p.x->op = op;
		ret = coll_plan_all(&p);
		kvfree(p.starts);
		kvfree(p.marks);
	}
	if (ret) {
		coll_exec_free(p.x);
		return ret;
	}
	memory = coll_plan_scratch_bytes(p.x) + p.x->nr_steps * sizeof(*p.x->steps);
	if (memory > room) {
		coll_exec_put(p.x);
		return -ENOMEM;
	}
	p.x->memory = room == COLL_ROOM_ALONE ? 0 : memory;
	coll_plan_stream(p.x);
	coll_plan_reset(&p);

	/* From here on links may find the plan. */
	spin_lock(&g->lock);
	g->running_memory += p.x->memory;
	op->exec = p.x;
	spin_unlock(&g->lock);
	return 0;
}
