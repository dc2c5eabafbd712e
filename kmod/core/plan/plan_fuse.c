// SPDX-License-Identifier: GPL-2.0
/* Fusions: where the elements of several tensors are, if they are one vector. */
#include <linux/list.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../../pure/schedule.h"
#include "../group/fusion.h"
#include "../group/group.h"
#include "../group/op_state.h"
#include "../group/req.h"
#include "../mem/pieces.h"
#include "plan_fuse.h"
#include "plan_priv.h"
#include "support.h"

/* How the vectors of a fusion are cut: @blocks times the count of a tensor into @chunks. */
struct coll_fused_vec {
	u32 chunks;
	u32 blocks;
};

/**
 * struct coll_fused - how the vectors of a fusion are made
 * @in: how the input is cut
 * @out: how the output is cut
 * @elem: bytes of an element
 * @blocks: one of the two vectors has a block of each rank, and each block is a chunk. The other
 *	vector has only the block of its own rank. So no vector is both input and output.
 */
struct coll_fused {
	struct coll_fused_vec in, out;
	u32 elem;
	bool blocks;
};

struct coll_req *coll_fused_next(const struct coll_req *first, struct coll_req *req)
{
	struct coll_fusion *f = first->fusion;

	if (req == first)
		return list_first_entry_or_null(&f->others, struct coll_req, list);
	return list_is_last(&req->list, &f->others) ? NULL : list_next_entry(req, list);
}

/* Is every vector in place (@all)? Is any (@any)? */
static void coll_fused_in_place(struct coll_req *first, bool *all, bool *any)
{
	struct coll_req *req;

	*all = true;
	*any = false;
	for (req = first; req; req = coll_fused_next(first, req)) {
		if (req->cmd.flags & COLL_CMD_INPLACE)
			*any = true;
		else if (req->out.buf)
			*all = false;
	}
}

/* Where chunk @c of the vector of a tensor begins, in elements. */
static u64 coll_fused_at(const struct coll_req *req, const struct coll_fused_vec *v, u32 c)
{
	return coll_chunk_start(v->blocks * req->cmd.count, v->chunks, c);
}

/* Make a buffer of pieces: chunk by chunk, and each chunk tensor by tensor. */
static struct coll_buf *coll_fused_pieces(struct coll_req *first, const struct coll_fused_vec *v,
					  u32 elem, bool out)
{
	struct coll_buf *buf;
	struct coll_req *req;
	u64 from, to;
	int ret = 0;
	u32 c, most;

	if (check_mul_overflow(first->fusion->nr, v->chunks, &most))
		return ERR_PTR(-EOVERFLOW);
	buf = coll_pieces_alloc(most);
	for (c = 0; buf && !ret && c < v->chunks; c++) {
		for (req = first; req && !ret; req = coll_fused_next(first, req)) {
			from = coll_fused_at(req, v, c);
			to = coll_fused_at(req, v, c + 1);
			if (from < to)
				ret = coll_pieces_add(buf, out ? &req->out : &req->in,
						      from * elem, (to - from) * elem);
		}
		cond_resched();
	}
	if (ret) {
		coll_buf_put(buf);
		buf = ERR_PTR(ret);
	}
	return buf ?: ERR_PTR(-ENOMEM);
}

/* The request is the caller's alone: its op has not begun. */
static int coll_fuse_rank(struct coll_req *first, const struct coll_fused *f)
{
	struct coll_buf *in, *out;
	bool all, any;

	if (first->fusion->joined || !first->fusion->count)
		return 0;
	coll_fused_in_place(first, &all, &any);
	out = coll_fused_pieces(first, &f->out, f->elem, true);
	if (IS_ERR(out))
		return PTR_ERR(out);
	in = out;
	if (all && !f->blocks)
		coll_buf_get(in);
	else
		in = coll_fused_pieces(first, &f->in, f->elem, false);
	if (IS_ERR(in)) {
		coll_buf_put(out);
		return PTR_ERR(in);
	}
	coll_buf_put(first->in.buf);
	coll_buf_put(first->out.buf);
	first->in = (struct coll_vec){ .buf = in };
	first->out = (struct coll_vec){ .buf = out };
	/* Pieces in place read what they write; the others have an input of their own. */
	if (any)
		first->cmd.flags |= COLL_CMD_INPLACE;
	/* Its blocks have the elements of all tensors. */
	if (f->blocks)
		first->cmd.count = first->fusion->count;
	first->fusion->joined = true;
	return 0;
}

static int coll_fused_cut(const struct coll_op *op, struct coll_fused *f)
{
	const struct coll_fused_vec own = { .chunks = 1, .blocks = 1 };
	const struct coll_fused_vec all = { op->group->size, op->group->size };
	const struct coll_algorithm *alg;
	u32 chunks;

	*f = (struct coll_fused){
		.elem = op->elem,
		.blocks = op->cmd.collective != COLL_ALLREDUCE,
	};
	if (f->blocks) {
		f->in = op->cmd.collective == COLL_ALLGATHER ? own : all;
		f->out = op->cmd.collective == COLL_ALLGATHER ? all : own;
		return 0;
	}
	alg = coll_choose_algorithm(op, op->group->nr_nodes);
	if (!alg)
		return -EINVAL;
	chunks = alg->chunks(op->group->nr_nodes);
	f->in = (struct coll_fused_vec){ .chunks = chunks, .blocks = 1 };
	f->out = f->in;
	return 0;
}

int coll_fuse_vectors(struct coll_op *op)
{
	struct coll_fused f;
	struct coll_req *req;
	int ret;

	if (!op->fused)
		return 0;
	ret = coll_fused_cut(op, &f);
	if (ret)
		return ret;
	list_for_each_entry(req, &op->reqs, list) {
		if (!req->fusion)
			return -EBADE;
		ret = coll_fuse_rank(req, &f);
		if (ret)
			break;
	}
	return ret;
}

int coll_plan_marks(struct coll_plan *p)
{
	struct coll_req *first = list_first_entry(&p->op->reqs, struct coll_req, list), *req;
	u32 c;

	/* Blocks of ranks are cut by their elements alone. */
	if (!p->op->fused || p->kind->flags & COLL_KIND_BLOCKS)
		return 0;
	p->marks = kvcalloc(p->chunks + 1, sizeof(*p->marks), GFP_KERNEL_ACCOUNT);
	if (!p->marks)
		return -ENOMEM;
	for (c = 0; c <= p->chunks; c++) {
		for (req = first; req; req = coll_fused_next(first, req))
			p->marks[c] += coll_chunk_start(req->cmd.count, p->chunks, c);
		cond_resched();
	}
	return 0;
}
