// SPDX-License-Identifier: GPL-2.0
/*
 * Tensors that the coordinator starts together are one op. The first tensor of
 * each local rank posts it, and has the others in its struct coll_fusion; each has a result.
 *
 * The root decides what is fused, from values that all nodes know. Fusion must not change the bits
 * of a result. So the root must not fuse the tensors that are refused here: tensors that, alone,
 * would go by different algorithms, or in several blocks. All other nodes follow the root.
 */
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "../../pure/coord/coord_params.h"
#include "../../pure/optable.h"
#include "../../pure/reduction/wide.h"
#include "../../pure/wire.h"
#include "../deadline.h"
#include "../group/fusion.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "../plan/select.h"
#include "../plan/stripe.h"
#include "../plan/support.h"
#include "tensor_fuse.h"
#include "tensor_life.h"
#include "tensor_scale.h"

/* --- what fits together -------------------------------------------------------------- */

static struct coll_cmd coll_fused_cmd(const struct coll_coord_params *p)
{
	const u64 *f = p->field;
	u32 elem = coll_elem_size(f[COLL_FIELD_DTYPE]);

	return (struct coll_cmd){
		.collective = f[COLL_FIELD_COLLECTIVE],
		.op = coll_tensor_op(p),
		.dtype = f[COLL_FIELD_DTYPE],
		.algorithm = f[COLL_FIELD_ALGORITHM],
		.flags = (f[COLL_FIELD_FLAGS] & COLL_CMD_NARROW) |
			 coll_wire_flag(f[COLL_FIELD_WIRE]),
		.count = elem ? div_u64(coll_coord_bytes(p), elem) : 0,
	};
}

/* Largest number of bytes of scratch that a vector takes, in one set. */
static u64 coll_fused_scratch(const struct coll_cmd *c)
{
	u32 size = coll_is_wide(c) ? coll_wide_size(c->op, c->dtype) : coll_dtype_size(c->dtype);

	return c->count * size;
}

/* Is this a collective with a block for each rank, which may be fused? */
static bool coll_fuses_blocks(u32 collective)
{
	return collective == COLL_ALLGATHER || collective == COLL_REDUCE_SCATTER_BLOCK;
}

/* Would the tensor alone be one block, with the same chunks as in a fusion? */
static bool coll_fused_is_whole(const struct coll_group *g, const struct coll_cmd *c)
{
	/* A chunk is the block of a rank. A rank needs a piece for each block of each tensor. */
	if (coll_fuses_blocks(c->collective))
		return g->size <= COLL_FUSE_RANKS;
	if (c->collective != COLL_ALLREDUCE)
		return false;
	/* There are no chunks: each element is folded in the order of ranks. */
	if (g->nr_nodes == 1)
		return true;
	return c->op != COLL_OP_SUM_EXACT && coll_fused_scratch(c) <= COLL_FUSE_BLOCK &&
	       coll_stripe_links(g, coll_cmd_bytes(c)) == 1;
}

bool coll_tensors_fit(struct coll_coord *c, const struct coll_coord_entry *first,
		      const struct coll_coord_entry *e)
{
	const struct coll_tensors *ts = c->user;
	struct coll_cmd a = coll_fused_cmd(&first->want), b = coll_fused_cmd(&e->want);

	return coll_fused_is_whole(ts->group, &a) && coll_fused_is_whole(ts->group, &b) &&
	       coll_select_row_of(ts->group, &a) == coll_select_row_of(ts->group, &b);
}

/* @asked is 0: the most. */
static u32 coll_fuse_limit(u32 asked, u32 most)
{
	return asked && asked < most ? asked : most;
}

u64 coll_tensors_fit_bytes(struct coll_coord *c, const struct coll_coord_entry *first)
{
	const struct coll_tensors *ts = c->user;
	const struct coll_group *g = ts->group;
	struct coll_cmd cmd = coll_fused_cmd(&first->want);
	u32 elem = coll_dtype_size(cmd.dtype), vectors;
	u32 partial = coll_is_wide(&cmd) ? coll_wide_size(cmd.op, cmd.dtype) : elem;

	/* A fusion is one block, however large. On one node it takes no scratch. */
	if (g->nr_nodes == 1 || cmd.collective == COLL_ALLGATHER || !elem)
		return U64_MAX;
	/* Partial results: one block for each rank; or one vector for each step, and one more. */
	vectors = cmd.collective == COLL_REDUCE_SCATTER_BLOCK ? g->size : ilog2(g->nr_nodes) + 1;
	return COLL_SCRATCH_MAX / (vectors * DIV_ROUND_UP(partial, elem));
}

void coll_tensors_set_fusion(struct coll_group *g, u64 threshold, u32 most, u32 ahead)
{
	struct coll_coord *c = &g->tensors->coord;

	BUILD_BUG_ON(COLL_FUSE_MOST != COLL_TENSOR_FUSE_MAX);
	BUILD_BUG_ON(COLL_FUSE_BYTES != COLL_TENSOR_FUSE_BYTES);
	spin_lock(&g->lock);
	c->threshold = min_t(u64, threshold, COLL_FUSE_BYTES);
	c->most = coll_fuse_limit(most, coll_tensors_bound(COLL_FUSE_MOST, c->nr_local));
	c->ahead = coll_fuse_limit(ahead, COLL_FUSE_AHEAD);
	spin_unlock(&g->lock);
}

void coll_tensors_count(struct coll_group *g, struct coll_tensor_counts *n)
{
	spin_lock(&g->lock);
	*n = g->tensors->counts;
	spin_unlock(&g->lock);
}

/* --- gathering ------------------------------------------------------------------------ */

/* The first tensor of a rank. */
static void coll_fusion_begin(struct coll_tensor_req *t)
{
	t->fused = (struct coll_fusion){
		.nr = 1, .count = t->req.cmd.count, .bytes = t->req.bytes,
		.digest = t->req.agreed, .over = coll_tensor_over,
	};
	INIT_LIST_HEAD(&t->fused.others);
}

/* Is its collective one that may be fused, and are its vectors small enough? */
static bool coll_fusion_bounded(const struct coll_tensor_req *first)
{
	u32 collective = first->req.cmd.collective, elem = coll_elem_size(first->req.cmd.dtype);

	if (first->fused.count > COLL_FUSE_BYTES / (elem ?: 1))
		return false;
	return collective == COLL_ALLREDUCE ||
	       (coll_fuses_blocks(collective) &&
		coll_member_group(first->req.member)->size <= COLL_FUSE_RANKS);
}

/* Another node may send anything. Return: false if the two tensors cannot be one op. */
static bool coll_fusion_add(struct coll_tensor_req *first, struct coll_tensor_req *t)
{
	struct coll_fusion *f = &first->fused;

	list_add_tail(&t->req.list, &f->others);
	f->nr++;
	f->count += t->req.cmd.count;
	f->bytes += t->req.bytes;
	f->digest = coll_digest(f->digest, t->req.agreed) ?: 1;
	first->req.in_bytes += t->req.in_bytes;
	if (t->expires && (!first->expires || t->expires < first->expires))
		first->expires = t->expires;
	return f->nr <= COLL_FUSE_MOST && coll_fusion_bounded(first) &&
	       coll_coord_fuse(&first->entry->known, &t->entry->known);
}

static bool coll_fusion_gather(struct coll_tensors *ts, u32 k, struct coll_tensor_req *t)
{
	struct coll_tensor_req *first = ts->first[k];

	coll_tensor_unwait(ts, t);
	t->req.member->tensors.gathered++;
	if (first)
		return coll_fusion_add(first, t);
	coll_fusion_begin(t);
	t->req.weight = 0;
	ts->first[k] = t;
	return true;
}

/* All tensors of a fusion have started: it becomes the next op of each local rank. */
static void coll_fusion_post(struct coll_tensors *ts, u32 divisor)
{
	struct coll_tensor_req *first;
	u32 k;

	for (k = 0; k < ts->group->nr_local && !ts->broken; k++) {
		first = ts->first[k];
		first->req.divisor = divisor;
		first->req.fusion = &first->fused;
		first->req.bytes = first->fused.bytes;
		ts->broken = -coll_tensor_post_op(first);
		if (ts->broken)
			break;
		first->req.member->tensors.gathered -= first->fused.nr;
		ts->first[k] = NULL;
	}
	ts->started++;
	ts->counts.fusions++;
	ts->to_advance = true;
}

/* @more: further tensors of this fusion follow. The root has a limited time to start them all. */
static void coll_fusing_locked(struct coll_tensors *ts, bool more)
{
	bool began = more && !ts->fusing;

	lockdep_assert_held(&ts->group->lock);
	ts->fusing = more;
	if (!more)
		ts->fuse_expires = 0;
	if (!began)
		return;
	ts->fuse_expires = coll_deadline(COLL_TENSOR_ANSWER_NS);
	coll_tensors_arm(ts);
}

void coll_tensors_fuse(struct coll_tensors *ts, struct coll_coord_entry *e, u32 divisor, bool last)
{
	struct coll_tensor_req *t;
	u32 k;

	lockdep_assert_held(&ts->group->lock);
	for (k = 0; k < ts->group->nr_local; k++) {
		t = coll_tensor_slot(e, k)->waits;
		/* A tensor is not fused if a rank has joined and so has not posted it. */
		if (!t || !coll_fusion_gather(ts, k, t))
			ts->broken = EBADE;
		if (ts->first[k])
			ts->first[k]->req.weight += coll_coord_bytes(&e->known);
	}
	coll_fusing_locked(ts, !last);
	ts->counts.fused++;
	if (last && !ts->broken)
		coll_fusion_post(ts, divisor);
}

/* --- the end -------------------------------------------------------------------------- */

struct coll_tensor_req *coll_tensors_unfuse(struct coll_tensors *ts)
{
	struct coll_tensor_req *first;
	struct coll_req *req;
	u32 k;

	lockdep_assert_held(&ts->group->lock);
	for (k = 0; k < ts->group->nr_local; k++) {
		first = ts->first[k];
		if (!first)
			continue;
		req = list_first_entry_or_null(&first->fused.others, struct coll_req, list);
		first->req.member->tensors.gathered--;
		if (req) {
			list_del(&req->list);
			return container_of(req, struct coll_tensor_req, req);
		}
		ts->first[k] = NULL;
		return first;
	}
	return NULL;
}
