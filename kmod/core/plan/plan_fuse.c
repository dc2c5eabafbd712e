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

/* The tensor behind @req in its fusion, which begins with @first; NULL: it is the last one. */
static struct coll_req *coll_fused_next(const struct coll_req *first, struct coll_req *req)
{
	struct coll_fusion *f = first->fusion;

	if (req == first)
		return list_first_entry_or_null(&f->others, struct coll_req, list);
	return list_is_last(&req->list, &f->others) ? NULL : list_next_entry(req, list);
}

/* Is every vector in place, or any? */
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

/* Chunk by chunk, of each chunk tensor by tensor. */
static struct coll_buf *coll_fused_pieces(struct coll_req *first, u32 chunks, u32 elem, bool out)
{
	struct coll_buf *buf;
	struct coll_req *req;
	u64 from, to;
	int ret = 0;
	u32 c, most;

	if (check_mul_overflow(first->fusion->nr, chunks, &most))
		return NULL;
	buf = coll_pieces_alloc(most);
	for (c = 0; buf && !ret && c < chunks; c++) {
		for (req = first; req && !ret; req = coll_fused_next(first, req)) {
			from = coll_chunk_start(req->cmd.count, chunks, c);
			to = coll_chunk_start(req->cmd.count, chunks, c + 1);
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
static int coll_fuse_rank(struct coll_req *first, u32 chunks, u32 elem)
{
	struct coll_buf *in, *out;
	bool all, any;

	if (first->fusion->joined || !first->fusion->count)
		return 0;
	coll_fused_in_place(first, &all, &any);
	out = coll_fused_pieces(first, chunks, elem, true);
	if (IS_ERR(out))
		return PTR_ERR(out);
	in = out;
	if (all)
		coll_buf_get(in);
	else
		in = coll_fused_pieces(first, chunks, elem, false);
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
	first->fusion->joined = true;
	return 0;
}

int coll_fuse_vectors(struct coll_op *op)
{
	const struct coll_algorithm *alg;
	struct coll_req *req;
	u32 chunks;
	int ret = 0;

	if (!op->fused)
		return 0;
	alg = coll_choose_algorithm(op, op->group->nr_nodes);
	if (!alg)
		return -EINVAL;
	chunks = alg->chunks(op->group->nr_nodes);
	list_for_each_entry(req, &op->reqs, list) {
		if (!req->fusion)
			return -EBADE;
		ret = coll_fuse_rank(req, chunks, op->elem);
		if (ret)
			break;
	}
	return ret;
}

int coll_plan_marks(struct coll_plan *p)
{
	struct coll_req *first = list_first_entry(&p->op->reqs, struct coll_req, list), *req;
	u32 c;

	if (!p->op->fused)
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
