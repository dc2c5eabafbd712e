// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Broadcast down two complementary binary trees, half of the vector each; n = 6, numbers
 * relative to the root, the trees of topology/tree.h with one and two heads:
 *
 *	tokens, chunk 0:  0		chunk 1:  0
 *			   \			   \
 *			    4			    1
 *			   / \			     \
 *			  2   5			      5
 *			 / \			     /
 *			1   3			    3
 *						   / \
 *						  2   4
 *
 * The tokens (see algorithms/broadcast/binomial.c) go up the first tree only.
 *
 * The root sends each half once. Each other participant has children in one tree at most (1 has
 * one child in the second and none in the first), and sends at most a vector. For long vectors
 * this is about twice as fast as one binary tree, at the same latency: the first tree's height
 * up, the second one's down, about log2 n each (Sanders, Speck, Traeff, "Two-tree algorithms
 * for full bandwidth broadcast, reduction and scan", Parallel Computing 2009).
 */
#include "../../topology/tree.h"

static u32 double_tree_chunks(u32 n)
{
	return 2;
}

static int double_tree_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_tree_walk w[2];
	u32 i, rel;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	rel = coll_before(n, me, root);
	e->round = 0;
	for (i = 0; i < 2; i++) {
		w[i] = (struct coll_tree_walk){
			.n = n, .root = root, .r = rel, .chunk = i, .down = true,
			.up = i ? COLL_TREE_NOTHING : COLL_TREE_TOKENS,
			.t = coll_tree_at(n, i + 1, rel), .dep = COLL_DEP_NONE,
		};
		w[i].base = coll_tree_up_rounds(w[0].t.top);
		if (!rel)
			w[i].dep = coll_emit_input(e, i, COLL_STEP_FINAL);
	}
	coll_tree_walk(e, w, 2);
	return 0;
}

static u64 double_tree_sent(u32 n, u32 me, u32 root)
{
	u32 rel = coll_before(n, me, root);
	struct coll_tree a = coll_tree_at(n, 1, rel), b = coll_tree_at(n, 2, rel);

	return coll_tree_children(&a) + coll_tree_children(&b);
}

static u32 double_tree_latency(u32 n, u32 root)
{
	return coll_tree_height(n, 1) + coll_tree_height(n, 2);
}

const struct coll_algorithm coll_broadcast_double_tree = {
	.name = "double_tree",
	.id = COLL_ALG_DOUBLE_TREE,
	.collective = COLL_BROADCAST,
	.chunks = double_tree_chunks,
	.emit = double_tree_emit,
	.sent = double_tree_sent,
	.latency = double_tree_latency,
};
