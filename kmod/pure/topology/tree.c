// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "tree.h"

/* The parts of a walk, in this order. */
enum stage {
	UP_LEFT,	/* receive from the left child */
	UP_RIGHT,
	UP,		/* send to the parent */
	DOWN,		/* receive from it */
	DOWN_LEFT,	/* send to the left child */
	DOWN_RIGHT,
	OVER
};

/* Height of the tree of positions 1 .. @m, and its root. */
static u32 positions_top(u32 m)
{
	return m ? coll_log2_floor(m) : 0;
}

static u32 positions_root(u32 m)
{
	return m ? 1U << coll_log2_floor(m) : 0;
}

/* The tree of positions 1 .. @m, number = position + @heads - 1. */
static void inside(struct coll_tree *t, u32 m, u32 heads, u32 pos)
{
	u32 bit = pos & -pos, b, up = (pos ^ bit) | bit << 1;

	t->level = coll_log2_floor(bit);
	if (bit > 1) {
		t->left = pos - bit / 2 + heads - 1;
		for (b = bit / 2; b && b > m - pos; b /= 2)
			;
		if (b)
			t->right = pos + b + heads - 1;
	}
	if (pos == positions_root(m)) {
		t->parent = heads ? heads - 1 : COLL_NOBODY;
		t->above = t->level + 1;
		return;
	}
	if (up > m)
		up = pos ^ bit;
	t->parent = up + heads - 1;
	t->above = coll_log2_floor(up & -up);
}

struct coll_tree coll_tree_at(u32 n, u32 heads, u32 r)
{
	u32 h = heads < n ? heads : n, m = n - h;
	struct coll_tree t = {
		.parent = COLL_NOBODY, .left = COLL_NOBODY, .right = COLL_NOBODY,
		.top = positions_top(m) + h,
	};

	if (r >= h) {
		inside(&t, m, h, r - h + 1);
		return t;
	}
	t.level = t.top - r;
	t.above = t.level + 1;
	if (r)
		t.parent = r - 1;
	if (r + 1 < h)
		t.right = r + 1;
	else if (m)
		t.right = positions_root(m) + h - 1;
	return t;
}

u32 coll_tree_height(u32 n, u32 heads)
{
	u32 h = heads < n ? heads : n;

	return n > h ? positions_top(n - h) + h : h - 1;
}

/*
 * The round of the stage the walk stands at; COLL_DEP_NONE: over. Both children of a
 * place have rounds of their own on the way up, since their vectors are folded one
 * after the other.
 */
static u32 next_round(struct coll_tree_walk *w)
{
	const struct coll_tree *t = &w->t;

	for (; w->stage < OVER; w->stage++) {
		switch (w->stage) {
		case UP_LEFT:
			if (w->up && t->left != COLL_NOBODY)
				return 2 * (t->level - 1);
			break;
		case UP_RIGHT:
			if (w->up && t->right != COLL_NOBODY)
				return 2 * (t->level - 1) + 1;
			break;
		case UP:
			if (w->up && t->parent != COLL_NOBODY)
				return 2 * (t->above - 1) + (w->r > t->parent);
			break;
		case DOWN:
			if (w->down && t->parent != COLL_NOBODY)
				return w->base + t->top - t->above;
			break;
		default:
			if (w->down && (w->stage == DOWN_LEFT ? t->left : t->right) != COLL_NOBODY)
				return w->base + t->top - t->level;
		}
	}
	return COLL_DEP_NONE;
}

static u32 peer(const struct coll_tree_walk *w, u32 r)
{
	return coll_after(w->n, w->root, r);
}

static void take_child(struct coll_emit *e, struct coll_tree_walk *w, u32 child)
{
	const struct coll_tree *t = &w->t;
	bool first = w->dep == COLL_DEP_NONE;
	u8 flags = child == t->right ? COLL_STEP_LAST : 0;

	if (w->up == COLL_TREE_TOKENS) {
		coll_emit_token(e, COLL_STEP_RECV, peer(w, child), 0);
		return;
	}
	if (w->final && t->parent == COLL_NOBODY &&
	    (child == t->right || t->right == COLL_NOBODY))
		flags |= COLL_STEP_FINAL;
	w->dep = coll_emit_recv_span(e, peer(w, child), coll_work(w->chunk, 1),
				     first ? COLL_ACT_REDUCE_IN : COLL_ACT_REDUCE, w->dep,
				     flags);
}

static void send_up(struct coll_emit *e, struct coll_tree_walk *w)
{
	if (w->up == COLL_TREE_TOKENS) {
		coll_emit_token(e, COLL_STEP_SEND, peer(w, w->t.parent), COLL_STEP_FENCE);
		return;
	}
	if (w->dep == COLL_DEP_NONE)
		w->dep = coll_emit_input(e, w->chunk, 0);
	coll_emit_send(e, peer(w, w->t.parent), w->chunk, w->dep, 0);
}

static void do_stage(struct coll_emit *e, struct coll_tree_walk *w)
{
	/* a root to whom only tokens have come must have seen them all */
	u8 fence = w->up != COLL_TREE_FOLD && w->t.parent == COLL_NOBODY ? COLL_STEP_FENCE : 0;

	switch (w->stage++) {
	case UP_LEFT:
		take_child(e, w, w->t.left);
		break;
	case UP_RIGHT:
		take_child(e, w, w->t.right);
		break;
	case UP:
		send_up(e, w);
		break;
	case DOWN:
		w->dep = coll_emit_recv(e, peer(w, w->t.parent), w->chunk, COLL_ACT_COPY,
					COLL_STEP_FINAL);
		break;
	case DOWN_LEFT:
		coll_emit_send(e, peer(w, w->t.left), w->chunk, w->dep, fence);
		break;
	case DOWN_RIGHT:
		coll_emit_send(e, peer(w, w->t.right), w->chunk, w->dep, fence);
		break;
	}
}

void coll_tree_walk(struct coll_emit *e, struct coll_tree_walk *w, u32 nr)
{
	u32 i, best, round, least;

	for (;;) {
		best = 0;
		least = COLL_DEP_NONE;
		for (i = 0; i < nr; i++) {
			round = next_round(&w[i]);
			if (round < least) {
				least = round;
				best = i;
			}
		}
		if (least == COLL_DEP_NONE)
			return;
		e->round = least;
		do_stage(e, &w[best]);
	}
}
