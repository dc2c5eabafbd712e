// SPDX-License-Identifier: GPL-2.0
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../group/fusion.h"
#include "exec.h"
#include "tally.h"

struct coll_tally *coll_tally_alloc(u32 nr, u32 chunks, u32 ranks)
{
	struct coll_tally *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);

	if (!t)
		return NULL;
	t->nr = nr;
	if (check_mul_overflow(nr, chunks, &t->nr_pieces) || t->nr_pieces == U32_MAX)
		goto fail;
	t->marks = kvcalloc(t->nr_pieces + 1, sizeof(*t->marks), GFP_KERNEL_ACCOUNT);
	t->left = kvcalloc(nr, sizeof(*t->left), GFP_KERNEL_ACCOUNT);
	t->reqs = kvcalloc(nr, array_size(ranks, sizeof(*t->reqs)), GFP_KERNEL_ACCOUNT);
	if (t->marks && t->left && t->reqs)
		return t;
fail:
	coll_tally_free(t);
	return NULL;
}

void coll_tally_free(struct coll_tally *t)
{
	if (!t)
		return;
	kvfree(t->marks);
	kvfree(t->left);
	kvfree(t->reqs);
	kfree(t);
}

/* The piece that has element @at; never a piece without elements. */
static u32 coll_tally_piece(const struct coll_tally *t, u64 at)
{
	u32 lo = 0, hi = t->nr_pieces;

	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (t->marks[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void coll_tally_add(struct coll_tally *t, u64 at, u64 n)
{
	u64 end = min(at + n, t->marks[t->nr_pieces]), to;
	u32 i;

	for (i = coll_tally_piece(t, at); at < end; i++, at = to) {
		to = min(end, t->marks[i + 1]);
		atomic64_add(to - at, &t->left[i % t->nr]);
	}
}

void coll_tally_open(struct coll_tally *t)
{
	int open = 0;
	u32 i;

	for (i = 0; i < t->nr; i++)
		open += !!atomic64_read(&t->left[i]);
	atomic_set(&t->open, open);
}

/* No step of this node touches the vectors of tensor @i any more. */
static void coll_tally_over(struct coll_exec *x, u32 i)
{
	struct coll_tally *t = x->tally;
	struct coll_req *first;
	u32 k = 0;

	/* The last tensor ends with the op. Until then the op and its requests exist. */
	if (atomic_dec_and_test(&t->open))
		return;
	/* If the op has failed, its end gives the error to the tensors. */
	if (coll_op_ending(x->op) && READ_ONCE(x->op->result))
		return;
	list_for_each_entry(first, &x->op->reqs, list)
		first->fusion->over(first, t->reqs[k++ * t->nr + i]);
}

void coll_tally_count(struct coll_exec *x, const struct coll_exec_step *st, u64 from, u64 to)
{
	struct coll_tally *t = x->tally;
	u64 at = st->piece_at + div_u64(from, st->unit), end = st->piece_at + div_u64(to, st->unit);
	u64 next;
	u32 i;

	for (i = coll_tally_piece(t, at); at < end && i < t->nr_pieces; i++, at = next) {
		next = min(end, t->marks[i + 1]);
		/* A full barrier: the thread that reaches zero sees all writes to the vectors. */
		if (at < next && !atomic64_sub_return(next - at, &t->left[i % t->nr]))
			coll_tally_over(x, i % t->nr);
	}
}
