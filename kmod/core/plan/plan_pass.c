// SPDX-License-Identifier: GPL-2.0
/*
 * A pass is for communicators with one node, which has the vectors of all ranks. So no rank has to
 * forward data: each step writes a part of the result of one rank, and reads inputs only. No step
 * waits for another one, so any number of helpers may work on them (slices.c). Folds are in the
 * order of ranks. These are the steps:
 *
 *	allgather		one for each rank: copy its input to all outputs
 *	gather, scatter,	one for each pair of ranks: copy the block from one rank to the
 *	alltoall, allgatherv	other
 *	reduce_scatter		one for each rank r: fold block r of all inputs
 *	scan, exscan		one for each rank r: fold the inputs up to r, or before r
 *
 * No result overwrites an input that is still to be read. In place, the input of alltoall and
 * reduce_scatter has been saved. The other collectives without folds do not copy a block to its own
 * place. A scan goes through the elements of all ranks at once ("abreast"), the last rank first.
 *
 * Broadcast, reduce and allreduce have nodes as participants. On one node they have a schedule of
 * one step instead of a pass.
 */
#include <linux/slab.h>

#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "plan_pass.h"
#include "plan_place.h"
#include "plan_priv.h"

static bool coll_is_scan(const struct coll_plan *p)
{
	return p->op->cmd.collective == COLL_SCAN || p->op->cmd.collective == COLL_EXSCAN;
}

static bool coll_pass_reduces(const struct coll_plan *p)
{
	return p->kind->flags & COLL_KIND_REDUCES;
}

/* The most steps that the pass may have. */
static u64 coll_pass_most(const struct coll_plan *p)
{
	u64 n = p->op->group->size;

	if (coll_pass_reduces(p) || p->kind->flags & COLL_KIND_ROOTED ||
	    p->op->cmd.collective == COLL_ALLGATHER)
		return n;
	return n * n;
}

bool coll_pass_fits(const struct coll_plan *p)
{
	const struct coll_op *op = p->op;
	const struct coll_group *g = op->group;

	if (g->nr_local != g->size || !(p->kind->flags & COLL_KIND_RANKS))
		return false;
	if (op->cmd.algorithm || op->chosen || op->nr_absent || !op->elem)
		return false;
	/* The order of a fold must not depend on fusion. */
	if (op->fused && !coll_pass_reduces(p))
		return false;
	/*
	 * In a pass rank r folds r vectors; in a schedule each result is folded once more. So a pass
	 * is faster for few ranks only. Communicators with shared memory must use a pass: small scans
	 * in shared memory have its bits.
	 */
	if (coll_is_scan(p) && g->size > COLL_SHM_RANKS)
		return false;
	/* replace and no_op fold nothing: algorithms forward the one input that is the result. */
	if (op->cmd.op == COLL_OP_REPLACE || op->cmd.op == COLL_OP_NO_OP)
		return false;
	return coll_pass_most(p) <= COLL_MAX_STEPS;
}

void coll_pass_vecs(struct coll_plan *p)
{
	bool reduces = coll_pass_reduces(p), scan = coll_is_scan(p);
	u32 before = p->op->cmd.collective == COLL_EXSCAN ? 0 : 1;
	struct coll_exec *x = p->x;
	u32 i;

	for (i = 0; i < x->nr_parts; i++) {
		struct coll_part *part = &x->parts[i];

		if (reduces) {
			part->in = x->vecs;
			part->nr_in = scan ? i + before : x->nr_parts;
			part->scale = x->scales;
		}
		if (p->op->cmd.collective == COLL_ALLGATHER) {
			part->out = x->vecs + x->nr_parts;
			part->nr_out = x->nr_parts;
		}
	}
}

/* Add a step of @n elements. The caller sets its operands. */
static struct coll_exec_step *coll_pass_add(struct coll_plan *p, u32 part, u8 action, u64 n)
{
	struct coll_exec_step *st = &p->x->steps[p->x->nr_steps++];

	st->s = (struct coll_step){
		.kind = COLL_STEP_LOCAL, .action = action, .flags = COLL_STEP_FINAL,
		.nr_chunks = 1, .dep = COLL_DEP_NONE,
	};
	st->part = part;
	st->pair = COLL_DEP_NONE;
	st->prev = COLL_DEP_NONE;
	st->next = COLL_DEP_NONE;
	st->unit = p->op->elem;
	st->len = n * p->op->elem;
	st->idle = !st->len;
	return st;
}

static bool coll_is_same(const struct coll_vec *a, u64 a_at, const struct coll_vec *b, u64 b_at)
{
	return a->buf == b->buf && a->start + a_at == b->start + b_at;
}

/* Add the step that copies the block from rank @from to rank @to, if there is such a block. */
static int coll_pass_move(struct coll_plan *p, u32 from, u32 to)
{
	struct coll_part *a = &p->x->parts[from], *b = &p->x->parts[to];
	u8 in = coll_part_has(p, a, false), out = coll_part_has(p, b, true);
	struct coll_exec_step *st;
	struct coll_cut src, dst;

	if (!in || !out)
		return 0;
	src = coll_plan_block(p, a, false, in == COLL_HAS_ALL ? b->id : a->id);
	dst = coll_plan_block(p, b, true, out == COLL_HAS_ALL ? a->id : b->id);
	if (src.n != dst.n)
		return -EBADE;
	st = coll_pass_add(p, to, COLL_ACT_MOVE, dst.n);
	if (st->idle)
		return 0;
	if (!a->nr_in || !b->nr_out)
		return -EBADE;
	st->src = (struct coll_place){ &a->in[0], src.at * p->op->elem };
	st->out_at = dst.at * p->op->elem;
	st->idle = coll_is_same(st->src.vec, st->src.at, &b->out[0], st->out_at);
	return 0;
}

static int coll_pass_moves(struct coll_plan *p, u32 to)
{
	u32 from;
	int ret = 0;

	for (from = 0; from < p->x->nr_parts && !ret; from++)
		ret = coll_pass_move(p, from, to);
	return ret;
}

/* Add the step that copies the input of a rank to all outputs. */
static void coll_pass_spread(struct coll_plan *p, u32 i)
{
	const struct coll_part *part = &p->x->parts[i];
	struct coll_cut dst = coll_plan_block(p, part, true, part->id);
	struct coll_exec_step *st = coll_pass_add(p, i, COLL_ACT_INPUT, dst.n);

	st->out_at = dst.at * p->op->elem;
}

static void coll_pass_fold(struct coll_plan *p, u32 i)
{
	const struct coll_part *part = &p->x->parts[i];
	struct coll_exec_step *st;
	struct coll_cut in;

	if (coll_is_scan(p)) {
		/* The first rank of an exscan has no result. */
		if (part->nr_in)
			coll_pass_add(p, i, COLL_ACT_INPUT, p->op->cmd.count);
		return;
	}
	in = coll_plan_block(p, part, false, part->id);
	st = coll_pass_add(p, i, COLL_ACT_INPUT, in.n);
	st->s.chunk = part->id;
	st->in_at = in.at * p->op->elem;
}

/* Add the steps that write the result of rank @i. An allgather: those that copy its input. */
static int coll_pass_part(struct coll_plan *p, u32 i)
{
	if (coll_pass_reduces(p))
		coll_pass_fold(p, i);
	else if (p->op->cmd.collective == COLL_ALLGATHER)
		coll_pass_spread(p, i);
	else
		return coll_pass_moves(p, i);
	return 0;
}

int coll_pass_steps(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	u32 i, k;
	int ret = 0;

	p->chunks = p->op->group->size;
	x->blocks = 1;
	x->at_once = 1;
	x->abreast = coll_is_scan(p);
	x->steps = kvcalloc(coll_pass_most(p), sizeof(*x->steps), GFP_KERNEL_ACCOUNT);
	x->fences = kvcalloc(x->nr_parts, sizeof(*x->fences), GFP_KERNEL_ACCOUNT);
	if (!x->steps || !x->fences)
		return -ENOMEM;
	for (k = 0; k < x->nr_parts && !ret; k++) {
		i = x->abreast ? x->nr_parts - 1 - k : k;
		x->parts[i].fences = x->fences + i;
		x->parts[i].begin = x->nr_steps;
		ret = coll_pass_part(p, i);
		x->parts[i].end = x->nr_steps;
		cond_resched();
	}
	return ret;
}
