// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Binary-tree allreduce: fold up the tree, send the result down; n = 6, the tree of
 * topology/tree.h (its positions 1 .. n are participants 0 .. n - 1):
 *
 *		 3			0, 2, 4 send theirs up, 1 and 5 fold,
 *	       /   \			1 and 5 send up, 3 folds and is done,
 *	      1	    5			and sends to 1 and 5, who send to 0, 2, 4
 *	     / \   /
 *	    0   2 4
 *
 * Left before own before right: the order of participants.
 *
 * floor(log2 n) transfers up and as many down. A participant sends its vector up and
 * the result to each child: at most 3 vectors, where a star's centre has n - 1 (the
 * textbook's "tree", O(log n); Sanders, Speck, Traeff 2009 for the in-order tree).
 */
#include "../../topology/tree.h"

static int tree_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_tree_walk w = {
		.n = n, .up = COLL_TREE_FOLD, .final = true, .down = true,
		.r = me, .dep = COLL_DEP_NONE,
	};

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}
	w.t = coll_tree_at(n, 0, me);
	w.base = coll_tree_up_rounds(w.t.top);
	coll_tree_walk(e, &w, 1);
	return 0;
}

static u64 tree_sent(u32 n, u32 me, u32 root)
{
	struct coll_tree t = coll_tree_at(n, 0, me);

	return coll_tree_children(&t) + (t.parent != COLL_NOBODY);
}

static u32 tree_latency(u32 n, u32 root)
{
	return 2 * coll_tree_height(n, 0);
}

const struct coll_algorithm coll_allreduce_tree = {
	.name = "tree",
	.id = COLL_ALG_TREE,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_LAST | COLL_ALG_ORDERED | COLL_ALG_ONE_PLACE,
	.chunks = coll_one_chunk,
	.emit = tree_emit,
	.sent = tree_sent,
	.latency = tree_latency,
};
