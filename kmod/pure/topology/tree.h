/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Binary trees numbered in order: what is left of a participant in the tree has lower
 * numbers, what is right of it higher ones. So a fold up the tree is in the order of
 * numbers. The level of position p = 1 .. m is the number of zeros at the end of p in binary.
 * Of the positions below it, the left half comes before it, and the right half behind; m = 6:
 *
 *		 4
 *	       /   \
 *	      2	    6
 *	     / \   /
 *	    1   3 5
 *
 * Odd positions are leaves, even ones are not. If one of two trees is moved by one place,
 * every participant is a leaf in at least one of them: each sends and
 * receives half of the vector in both, and nobody is idle half of the time (Sanders,
 * Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", Parallel Computing 2009). To move a tree by one, one participant is put on top
 * of it, as a head: numbers 0 .. heads - 1 are a chain, and the last of them stands above
 * the tree of the others. n = 6, one head:
 *
 *	0
 *	 \
 *	  4		(positions 1 .. 5 are numbers 1 .. 5)
 *	 / \
 *	2   5
 *   / \
 *  1   3
 *
 * The height is floor(log2(n - heads)) + heads.
 */
#ifndef COLL_PURE_TREE_H
#define COLL_PURE_TREE_H

#include "../algorithms/algorithms.h"

#define COLL_NOBODY	COLL_DEP_NONE

/**
 * struct coll_tree - one participant's place in a tree
 * @parent: number of the parent, COLL_NOBODY
 * @left: of the child before it
 * @right: of the child behind it
 * @level: height of the place
 * @above: height of the parent's
 * @top: height of the root
 */
struct coll_tree {
	u32 parent;
	u32 left;
	u32 right;
	u32 level;
	u32 above;
	u32 top;
};

/* Place of number @r < @n, with the first @heads numbers on top. */
struct coll_tree coll_tree_at(u32 n, u32 heads, u32 r);

/* Transfers between the root and the deepest leaf. */
u32 coll_tree_height(u32 n, u32 heads);

static inline u32 coll_tree_children(const struct coll_tree *t)
{
	return (t->left != COLL_NOBODY) + (t->right != COLL_NOBODY);
}

/* The content of transfers up a tree. */
enum coll_tree_up {
	COLL_TREE_NOTHING,
	COLL_TREE_TOKENS,
	COLL_TREE_FOLD,
};

/**
 * struct coll_tree_walk - the steps of one participant in one tree
 * @t: its place
 * @r: its number
 * @n: participants
 * @root: the participant with number 0
 * @chunk: chunk of the vector that uses this tree
 * @up: what goes up, enum coll_tree_up
 * @final: is the chunk final where the way up ends?
 * @down: does the chunk go down?
 * @base: round in which the root sends down
 * @stage: where the walk stands
 * @dep: step that has the chunk
 */
struct coll_tree_walk {
	struct coll_tree t;
	u32 r;
	u32 n;
	u32 root;
	u32 chunk;
	u8 up;
	bool final;
	bool down;
	u32 base;
	u32 stage;
	u32 dep;
};

/* Rounds that the way up of a tree of height @top takes. */
static inline u32 coll_tree_up_rounds(u32 top)
{
	return 2 * top;
}

/* Emit the steps of @nr walks, round by round. */
void coll_tree_walk(struct coll_emit *e, struct coll_tree_walk *w, u32 nr);

#endif /* COLL_PURE_TREE_H */
