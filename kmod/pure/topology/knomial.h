/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * k-nomial trees. Participants are numbered relative to the root, r = me - root (mod n),
 * and their numbers written with the radix k: the parent of r has the lowest digit of r
 * that is not 0 set to 0. So the children of r are r + d k^j, for all places j below
 * that digit (the root: all places) and d = 1 .. k - 1; what hangs below a child are
 * the k^j numbers from it on. With k = 2 it is the binomial tree; n = 8, k = 4:
 *
 *		0
 *	     / / \ \
 *	    4 1   2 3
 *	   /|\
 *	  5 6 7
 */
#ifndef COLL_PURE_KNOMIAL_H
#define COLL_PURE_KNOMIAL_H

#include "../algorithms/algorithms.h"

#define COLL_RADIX_DEFAULT	4

/**
 * struct coll_knomial - one participant's place
 * @n: participants
 * @root: number 0
 * @radix: k
 * @rel: my number
 * @level: my children's places are below this one
 * @span: k^level
 * @digit: my digit there; the root has none
 * @levels: digits of the largest number
 */
struct coll_knomial {
	u32 n;
	u32 root;
	u32 radix;
	u32 rel;
	u32 level;
	u64 span;
	u32 digit;
	u32 levels;
};

struct coll_knomial coll_knomial_at(u32 n, u32 me, u32 root, u32 radix);

/* The participant with number @rel. */
static inline u32 coll_knomial_peer(const struct coll_knomial *t, u32 rel)
{
	return coll_after(t->n, t->root, rel);
}

static inline u32 coll_knomial_parent(const struct coll_knomial *t)
{
	return coll_knomial_peer(t, t->rel - t->digit * (u32)t->span);
}

/* Number of participants in the subtree of @rel, with @rel itself, if its span is @span. */
static inline u32 coll_knomial_below(const struct coll_knomial *t, u32 rel, u64 span)
{
	return span < t->n - rel ? span : t->n - rel;
}

/*
 * Walk the children: for (c = first; c.rel; next). Upwards from the nearest one, as
 * vectors are folded; or downwards by places, the largest subtree first.
 */
struct coll_knomial_child {
	u32 rel;	/* 0: no more */
	u32 digit;
	u32 level;
	u64 span;
};

struct coll_knomial_child coll_knomial_nearest(const struct coll_knomial *t);
void coll_knomial_further(const struct coll_knomial *t, struct coll_knomial_child *c);
struct coll_knomial_child coll_knomial_largest(const struct coll_knomial *t);
void coll_knomial_smaller(const struct coll_knomial *t, struct coll_knomial_child *c);

/* Rounds in which a child of this place sends up, or gets what comes down. */
static inline u32 coll_knomial_up_round(const struct coll_knomial *t, u32 level, u32 digit)
{
	return level * (t->radix - 1) + digit - 1;
}

static inline u32 coll_knomial_up_rounds(const struct coll_knomial *t)
{
	return t->levels * (t->radix - 1);
}

static inline u32 coll_knomial_down_round(const struct coll_knomial *t, u32 level)
{
	return t->levels - 1 - level;
}

/**
 * coll_emit_ready() - tokens up the tree: every participant has started
 * @e: where
 * @t: who
 *
 * The root has to wait for them with a fence.
 */
void coll_emit_ready(struct coll_emit *e, const struct coll_knomial *t);

/* Children of the participant; height of the tree of @n. */
u32 coll_knomial_children(const struct coll_knomial *t);
u32 coll_knomial_height(u32 n, u32 radix);

#endif /* COLL_PURE_KNOMIAL_H */
