/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hypercubes for any number of participants.
 *
 * Recursive algorithms want a power of their radix. So participants are put into as
 * many groups of neighbours as the largest power not above n; the first of a group
 * leads it, takes what the others have before, and gives them the result afterwards.
 * With radix 2 a group has one or two participants. n = 6, four groups:
 *
 *	(0 1) (2 3) (4) (5)
 *
 * Groups are ranges, and so is every block of groups: what they fold, and the chunks
 * they own, are in the order of participants. (Thakur, Rabenseifner, Gropp 2005 fold
 * the remainder into the even ones of the first participants; the same with radix 2.)
 */
#ifndef COLL_PURE_HYPERCUBE_H
#define COLL_PURE_HYPERCUBE_H

#include "../algorithms/algorithms.h"

/**
 * struct coll_core - where one participant stands
 * @n: participants
 * @root: the participant with the relative number 0
 * @radix: a power of it is the number of groups
 * @nr: number of groups
 * @levels: @nr is @radix to this power
 * @rel: my relative number
 * @me: my group
 * @first: its first participant, which leads
 * @size: participants in it
 * @chunks: chunks of a vector, shared out among the groups as participants are
 */
struct coll_core {
	u32 n;
	u32 root;
	u32 radix;
	u32 nr;
	u32 levels;
	u32 rel;
	u32 me;
	u32 first;
	u32 size;
	u32 chunks;
};

/* Number of groups of @n participants, at most @radix in each: @radix to the power *@levels. */
u32 coll_core_groups(u32 n, u32 radix, u32 *levels);

/* @chunks: see struct coll_core; 0 where it is of no use. */
struct coll_core coll_core_at(u32 n, u32 me, u32 root, u32 radix, u32 chunks);

/* The participant with relative number @rel. */
static inline u32 coll_core_peer(const struct coll_core *c, u32 rel)
{
	return coll_after(c->n, c->root, rel);
}

/* Relative number of the leader of group @i; of @i == nr: n. */
static inline u32 coll_core_first(const struct coll_core *c, u32 i)
{
	return coll_chunk_start(c->n, c->nr, i);
}

/* The leader of group @i. */
static inline u32 coll_core_leader(const struct coll_core *c, u32 i)
{
	return coll_core_peer(c, coll_core_first(c, i));
}

/* Chunks of groups @i to @i + @nr - 1. */
static inline struct coll_chunks coll_core_span(const struct coll_core *c, u32 i, u32 nr)
{
	u32 start = coll_chunk_start(c->chunks, c->nr, i);

	return coll_work(start, (u32)coll_chunk_start(c->chunks, c->nr, i + nr) - start);
}

/*
 * Longest chain if each level is one transfer: the levels, and one transfer at either end for
 * participants that do not lead. Only the first groups have such participants. A chain from one
 * of them to another has all levels only if their groups differ in all digits.
 */
u32 coll_core_latency(const struct coll_core *c);

/**
 * coll_emit_halving() - reduce-scatter of vectors in halves, radix 2
 * @e: where
 * @c: who
 * @final: chunk that is final afterwards; COLL_DEP_NONE: none
 *
 * In round 0 the others send to their leaders. Then log2(groups) rounds follow. At the end each
 * leader has the sum of its group's chunks in W.
 */
void coll_emit_halving(struct coll_emit *e, const struct coll_core *c, u32 final);

/* Chunks that coll_emit_halving() sends. */
u64 coll_halving_sent(const struct coll_core *c);

/**
 * coll_emit_doubling() - allgather of final chunks among leaders, radix 2
 * @e: where
 * @c: who; each leader has its group's chunks
 * @round: the first free one; takes log2 of the groups
 */
void coll_emit_doubling(struct coll_emit *e, const struct coll_core *c, u32 round);

/* Chunks that coll_emit_doubling() sends. */
u64 coll_doubling_sent(const struct coll_core *c);

#endif /* COLL_PURE_HYPERCUBE_H */
