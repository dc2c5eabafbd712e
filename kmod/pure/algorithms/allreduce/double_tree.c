// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Two complementary binary trees, each for one half of the vector: algorithms/allreduce/tree.c
 * twice at the same time. n = 6:
 *
 *	chunk 0:     3		chunk 1:   0
 *		   /   \		    \
 *		  1	5		     4
 *		 / \   /		    / \
 *		0   2 4			   2   5
 *					  / \
 *					 1   3
 *
 * A participant with children in one tree is a leaf in the other (0, at the top of the second,
 * has one child). So each participant's link carries about the whole vector up and down. In a
 * single tree, inner participants have two or three vectors on their links, and leaves one
 * (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", 2009). Their second tree is moved or mirrored. Ours is moved by one, and 0 is put on
 * top: this keeps the order of participants in both trees for every n.
 *
 * The longer chain is the second tree's: 1 + floor(log2(n - 1)) up and as many down. Each
 * sends one chunk up and one to each child, in both trees.
 */
#include "../../topology/tree.h"

static u32 double_tree_chunks(u32 n)
{
	return 2;
}

static int double_tree_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_tree_walk w[2];
	u32 i;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	for (i = 0; i < 2; i++) {
		if (n == 1)
			coll_emit_input(e, i, COLL_STEP_FINAL);
		w[i] = (struct coll_tree_walk){
			.n = n, .up = COLL_TREE_FOLD, .final = true, .down = true,
			.r = me, .chunk = i, .dep = COLL_DEP_NONE,
			.t = coll_tree_at(n, i, me),
		};
		w[i].base = coll_tree_up_rounds(w[i].t.top);
	}
	coll_tree_walk(e, w, 2);
	return 0;
}

static u64 double_tree_sent(u32 n, u32 me, u32 root)
{
	u64 sent = 0;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct coll_tree t = coll_tree_at(n, i, me);

		sent += coll_tree_children(&t) + (t.parent != COLL_NOBODY);
	}
	return sent;
}

static u32 double_tree_latency(u32 n, u32 root)
{
	return 2 * coll_tree_height(n, 1);
}

const struct coll_algorithm coll_allreduce_double_tree = {
	.name = "double_tree",
	.id = COLL_ALG_DOUBLE_TREE,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_LAST | COLL_ALG_ORDERED | COLL_ALG_ONE_PLACE,
	.chunks = double_tree_chunks,
	.emit = double_tree_emit,
	.sent = double_tree_sent,
	.latency = double_tree_latency,
};
