// SPDX-License-Identifier: GPL-2.0
/*
 * Schedules are made for nodes of any number of ranks. They say in which vector each sum is stored
 * until it is sent or used as an operand. With a single rank on a node many of these steps only
 * copy. This file finds such steps, and lets the readers of the copy read its source instead.
 */
#include "../../pure/optable.h"
#include "../../pure/schedule.h"
#include "../exec/exec.h"
#include "../exec/exec_step.h"
#include "../group/member.h"
#include "plan_alias.h"
#include "plan_priv.h"

/* Chunks of W or TMP. */
struct coll_chunk_range {
	u32 space;
	u32 chunk;
	u32 nr;
};

/* The range that a step writes, or sends. */
static struct coll_chunk_range coll_chunk_range_to(const struct coll_exec_step *st)
{
	return (struct coll_chunk_range){ st->s.space, st->s.chunk, st->len ? st->s.nr_chunks : 0 };
}

/* The second range, which a step only reads; may be empty. */
static struct coll_chunk_range coll_chunk_range_from(const struct coll_exec_step *st)
{
	if (st->s.action != COLL_ACT_FOLD && st->s.action != COLL_ACT_MOVE)
		return (struct coll_chunk_range){ };
	return (struct coll_chunk_range){ st->s.from_space, st->s.from, st->len ? st->s.nr_chunks : 0 };
}

static bool coll_chunk_ranges_meet(struct coll_chunk_range a, struct coll_chunk_range b)
{
	return a.space == b.space && a.nr && b.nr &&
	       a.chunk < b.chunk + b.nr && b.chunk < a.chunk + a.nr;
}

/* Do the ranges overlap without being equal? */
static bool coll_chunk_ranges_part(struct coll_chunk_range a, struct coll_chunk_range b)
{
	return coll_chunk_ranges_meet(a, b) && (a.chunk != b.chunk || a.nr != b.nr);
}

/*
 * Can a single input be used as a partial result without a copy? Not if it has to be multiplied or
 * widened first. Not if it is the only input of the op either: the step that copies it clears its
 * padding.
 */
static bool coll_input_is_partial(const struct coll_plan *p)
{
	return !p->x->reducer.part ||
	       (p->x->in_order && p->source == COLL_RANK_NONE);
}

static u32 coll_block_begin(const struct coll_plan *p, u32 i)
{
	const struct coll_part *part = &p->x->parts[p->x->steps[i].part];

	return i - (i - part->begin) % ((part->end - part->begin) / p->x->blocks);
}

/* Behind the last step of the block that step @i belongs to. */
static u32 coll_block_end(const struct coll_plan *p, u32 i)
{
	const struct coll_part *part = &p->x->parts[p->x->steps[i].part];

	return coll_block_begin(p, i) + (part->end - part->begin) / p->x->blocks;
}

/* Does any step need the result of local step @i in W? Sends that depend on @i do not count. */
static bool coll_needs_work(const struct coll_plan *p, u32 i)
{
	const struct coll_exec_step *st = &p->x->steps[i];
	u32 k, end = coll_block_end(p, i);

	for (k = i + 1; k < end; k++) {
		const struct coll_exec_step *other = &p->x->steps[k];

		if (other->s.dep == i && other->s.kind != COLL_STEP_SEND)
			return true;
		if (coll_chunk_range_from(other).nr && other->s.from_space == COLL_SPACE_WORK)
			return true;
		if (!coll_chunk_ranges_meet(coll_chunk_range_to(st), coll_chunk_range_to(other)))
			continue;
		if (other->s.kind == COLL_STEP_SEND ? other->s.dep != i :
		    other->s.action == COLL_ACT_REDUCE || other->s.action >= COLL_ACT_FOLD_INPUT)
			return true;
		/* The range is written again: later steps do not read the result of @i. */
		if (other->s.kind != COLL_STEP_SEND)
			return false;
	}
	return false;
}

/*
 * A local step over one input need not copy the input to W for steps that only send it: these may
 * read the input itself. Return: true if the local step has nothing to do then.
 */
static bool coll_alias_work(struct coll_plan *p, u32 i)
{
	struct coll_exec *x = p->x;
	struct coll_exec_step *st = &x->steps[i];
	struct coll_part *part = &x->parts[st->part];
	bool final = st->s.flags & COLL_STEP_FINAL;
	u32 k;

	/* A scaled, rounded or divided result differs from its input. */
	if (final && (x->reducer.scaled || x->reducer.final != x->reducer.part))
		return false;
	if (final && !coll_step_keeps_first(part, st))
		return false;
	/* Padding of the result has to be cleared, also if the input is there already. */
	if (final && x->reducer.part && coll_dtype_flags(p->op->cmd.dtype) & COLL_DTYPE_PADDED)
		return false;
	if (coll_needs_work(p, i))
		return false;
	for (k = i + 1; k < coll_block_end(p, i); k++) {
		if (x->steps[k].s.dep != i)
			continue;
		x->steps[k].s.dep = COLL_DEP_NONE;
		x->steps[k].src = (struct coll_place){ &part->in[0], st->in_at };
	}
	return !final || part->nr_out == 1;
}

/* Is step @i the only writer of its range, and does every reader use exactly this range? */
static bool coll_owns_range(const struct coll_plan *p, u32 i)
{
	struct coll_chunk_range mine = coll_chunk_range_to(&p->x->steps[i]);
	u32 k;

	for (k = coll_block_begin(p, i); k < coll_block_end(p, i); k++) {
		const struct coll_exec_step *other = &p->x->steps[k];

		if (k == i)
			continue;
		if (coll_chunk_ranges_part(mine, coll_chunk_range_to(other)) ||
		    coll_chunk_ranges_part(mine, coll_chunk_range_from(other)))
			return false;
		if (other->s.kind != COLL_STEP_SEND &&
		    coll_chunk_ranges_meet(mine, coll_chunk_range_to(other)))
			return false;
	}
	return true;
}

/* May a result of a local rank overwrite an input that is still to be read? */
static bool coll_in_place(const struct coll_plan *p)
{
	const struct coll_req *req;

	list_for_each_entry(req, &p->op->reqs, list)
		if (req->cmd.flags & COLL_CMD_INPLACE)
			return true;
	return p->kind->flags & COLL_KIND_ONE_BUFFER;
}

/* As coll_alias_work(), for a copy in TMP: steps that send or fold it read the input itself. */
static bool coll_alias_tmp(struct coll_plan *p, u32 i)
{
	struct coll_exec *x = p->x;
	struct coll_exec_step *st = &x->steps[i];
	struct coll_part *part = &x->parts[st->part];
	struct coll_place in = { &part->in[0], st->in_at };
	struct coll_chunk_range mine = coll_chunk_range_to(st);
	u32 k;

	if (st->s.flags & COLL_STEP_FINAL || p->kind->flags & COLL_KIND_BLOCKS ||
	    coll_in_place(p) || !coll_owns_range(p, i))
		return false;
	for (k = i + 1; k < coll_block_end(p, i); k++) {
		struct coll_exec_step *other = &x->steps[k];

		if (coll_chunk_ranges_meet(mine, other->s.kind == COLL_STEP_SEND ?
				     coll_chunk_range_to(other) : coll_chunk_range_from(other)))
			other->src = in;
	}
	return true;
}

/* The receive that folds the vector moved by step @i; NULL if another step reads this vector. */
static struct coll_exec_step *coll_folds_moved(const struct coll_plan *p, u32 i)
{
	const struct coll_exec_step *st = &p->x->steps[i];
	struct coll_chunk_range to = coll_chunk_range_to(st), from = coll_chunk_range_from(st);
	struct coll_exec_step *found = NULL;
	u32 k;

	for (k = i + 1; k < coll_block_end(p, i); k++) {
		struct coll_exec_step *other = &p->x->steps[k];
		bool waits = other->s.dep == i;

		/* The source would be overwritten before the receive reads it. */
		if (other->s.kind != COLL_STEP_SEND &&
		    coll_chunk_ranges_meet(from, coll_chunk_range_to(other)))
			return NULL;
		/* Steps after the found one read its result. */
		if (found && !waits)
			continue;
		if (!waits && !coll_chunk_ranges_meet(to, coll_chunk_range_to(other)) &&
		    !coll_chunk_ranges_meet(to, coll_chunk_range_from(other)))
			continue;
		if (found || !waits || other->s.kind != COLL_STEP_RECV ||
		    other->s.action != COLL_ACT_REDUCE ||
		    other->len / other->unit != st->len / st->unit ||
		    coll_chunk_ranges_part(to, coll_chunk_range_to(other)))
			return NULL;
		found = other;
	}
	return found;
}

/*
 * Step @i may move a vector for one reason only: later, another vector is folded into it. Then the
 * fold can read the moved vector at its old place, and write the sum to the new one. Return: true
 * if @i need not move.
 */
static bool coll_fuse_move(struct coll_plan *p, u32 i)
{
	struct coll_exec_step *st = &p->x->steps[i], *fold;

	if (st->s.flags & (COLL_STEP_FINAL | COLL_STEP_FENCE) ||
	    st->s.from_space == COLL_SPACE_INPUT)
		return false;
	fold = coll_folds_moved(p, i);
	if (!fold)
		return false;
	fold->with = st->src;
	fold->s.dep = st->s.dep;
	return true;
}

/* Try to make local step @i unnecessary. Return: true if it has nothing to do. */
static bool coll_plan_alias(struct coll_plan *p, u32 i)
{
	const struct coll_exec_step *st = &p->x->steps[i];

	if (st->s.action == COLL_ACT_MOVE)
		return coll_fuse_move(p, i);
	if (st->s.action != COLL_ACT_INPUT || p->x->parts[st->part].nr_in != 1 ||
	    !coll_input_is_partial(p))
		return false;
	return st->s.space == COLL_SPACE_TMP ? coll_alias_tmp(p, i) :
	       st->s.space == COLL_SPACE_WORK && coll_alias_work(p, i);
}

void coll_plan_aliases(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	u32 i;

	for (i = 0; i < x->nr_steps; i++) {
		struct coll_exec_step *st = &x->steps[i];

		st->idle = st->s.kind == COLL_STEP_LOCAL &&
			   (!st->len || coll_plan_alias(p, i));
		cond_resched();
	}
}
