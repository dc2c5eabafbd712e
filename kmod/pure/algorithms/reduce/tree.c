// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reduce up the in-order binary tree of topology/tree.h, in the order of participants.
 * n = 6, root 2:
 *
 *		 3	4, 0, 2 send up, then 5 and 1,
 *	       /   \	then 3 has the result and sends it to the root
 *	      1	    5
 *	     / \   /
 *	    0	2 4
 *
 * The tree is the same whichever is the root, hence also the bits of the result.
 * floor(log2 n) transfers, and one more if the root does not stand at the top, which is
 * number 2^floor(log2 n) - 1. Every participant but the top sends one vector up. The top sends
 * one to the root, if it is not the root itself.
 */
#include "../../topology/tree.h"

static int tree_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_tree_walk w = {
		.n = n, .up = COLL_TREE_FOLD, .r = me, .dep = COLL_DEP_NONE,
	};
	u32 top;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}
	top = (1U << coll_log2_floor(n)) - 1;
	w.t = coll_tree_at(n, 0, me);
	w.final = top == root;
	coll_tree_walk(e, &w, 1);

	e->round = coll_tree_up_rounds(w.t.top);
	if (top != root && me == top)
		coll_emit_send(e, root, 0, w.dep, 0);
	else if (top != root && me == root)
		coll_emit_recv(e, top, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
	return 0;
}

static bool at_top(u32 n, u32 me)
{
	return me + 1 == 1U << coll_log2_floor(n);
}

static u64 tree_sent(u32 n, u32 me, u32 root)
{
	return !at_top(n, me) || me != root;
}

static u32 tree_latency(u32 n, u32 root)
{
	return coll_tree_height(n, 0) + !at_top(n, root);
}

const struct coll_algorithm coll_reduce_tree = {
	.name = "tree",
	.id = COLL_ALG_TREE,
	.collective = COLL_REDUCE,
	.flags = COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.emit = tree_emit,
	.sent = tree_sent,
	.latency = tree_latency,
};
