// SPDX-License-Identifier: GPL-2.0
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/sched.h>

#include "../../pure/schedule.h"
#include "../exec/tally.h"
#include "../group/fusion.h"
#include "../group/group.h"
#include "../group/req.h"
#include "../limits.h"
#include "plan_fuse.h"
#include "plan_peers.h"
#include "plan_priv.h"
#include "plan_tally.h"

/*
 * Elements of a tensor in each block. coll_fuse_rank() has set the count of the first request to
 * that of the whole fusion: subtract the other tensors to get its own.
 */
static u64 coll_tally_own(const struct coll_req *first, const struct coll_req *req)
{
	u64 own = first->fusion->count;

	if (req != first)
		return req->cmd.count;
	list_for_each_entry(req, &first->fusion->others, list)
		own -= req->cmd.count;
	return own;
}

/* Where each piece begins, chunk by chunk. */
static void coll_tally_mark(const struct coll_plan *p, struct coll_tally *t)
{
	struct coll_req *first = list_first_entry(&p->op->reqs, struct coll_req, list), *req;
	bool blocks = p->kind->flags & COLL_KIND_BLOCKS;
	u64 at = 0;
	u32 c, i = 0;

	for (c = 0; c < p->chunks; c++) {
		for (req = first; req; req = coll_fused_next(first, req)) {
			t->marks[i++] = at;
			at += blocks ? coll_tally_own(first, req) :
			      coll_chunk_start(req->cmd.count, p->chunks, c + 1) -
			      coll_chunk_start(req->cmd.count, p->chunks, c);
		}
		cond_resched();
	}
	t->marks[i] = at;
}

/* The requests of all ranks here: those of each one are in the same order. */
static void coll_tally_reqs(const struct coll_plan *p, struct coll_tally *t)
{
	struct coll_req *first, *req;
	u32 k = 0;

	list_for_each_entry(first, &p->op->reqs, list)
		for (req = first; req; req = coll_fused_next(first, req))
			t->reqs[k++] = req;
}

/* Is it a send to a local participant? The receive step is counted instead. */
static bool coll_step_is_passive(const struct coll_plan *p, const struct coll_exec_step *st)
{
	return st->s.kind == COLL_STEP_SEND &&
	       coll_plan_node(p, st->s.peer) == p->op->group->node;
}

/*
 * Does the step read another chunk than it writes? Without blocks the same place in two chunks may
 * belong to different tensors.
 */
static bool coll_step_shifts(const struct coll_plan *p, const struct coll_exec_step *st)
{
	return (st->s.action == COLL_ACT_FOLD || st->s.action == COLL_ACT_MOVE) &&
	       st->s.from % p->chunks != st->s.chunk % p->chunks;
}

/* Find the place of a step in the vector of the fusion, and count it. Return: false: not found. */
static bool coll_tally_step(const struct coll_plan *p, struct coll_tally *t,
			    struct coll_exec_step *st)
{
	const struct coll_part *part = &p->x->parts[st->part];
	u32 block = (u32)(st - p->x->steps - part->begin) /
		    ((part->end - part->begin) / p->x->blocks);
	u32 piece = st->s.chunk % p->chunks * t->nr;

	if (st->idle || !st->len || coll_step_is_passive(p, st))
		return true;
	st->piece_at = t->marks[piece];
	if (!(p->kind->flags & COLL_KIND_BLOCKS)) {
		if (p->x->blocks > 1 || coll_step_shifts(p, st))
			return false;
	} else {
		st->piece_at += coll_chunk_start(t->marks[piece + t->nr] - t->marks[piece],
						 p->x->blocks, block);
	}
	coll_tally_add(t, st->piece_at, div_u64(st->len, st->unit));
	return true;
}

void coll_plan_tally(struct coll_plan *p)
{
	struct coll_group *g = p->op->group;
	struct coll_req *first = list_first_entry(&p->op->reqs, struct coll_req, list);
	struct coll_tally *t;
	bool known = true;
	u32 i;

	/* So few bytes are done in one go: all tensors end together. */
	if (!p->op->fused || p->op->bytes <= COLL_SLICE)
		return;
	t = coll_tally_alloc(first->fusion->nr, p->chunks, g->nr_local);
	if (!t)
		return;
	coll_tally_mark(p, t);
	coll_tally_reqs(p, t);
	for (i = 0; i < p->x->nr_steps && known; i++) {
		known = coll_tally_step(p, t, &p->x->steps[i]);
		cond_resched();
	}
	if (!known) {
		coll_tally_free(t);
		return;
	}
	coll_tally_open(t);
	p->x->tally = t;
}
