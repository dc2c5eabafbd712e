/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The state of a check, and questions about steps that all files of the checker ask. Steps of
 * all participants are numbered through; NONE is no step.
 */
#ifndef COLL_PURE_CHECK_STATE_H
#define COLL_PURE_CHECK_STATE_H

#include "check.h"

#define NONE	COLL_DEP_NONE

/**
 * struct check_value - what a chunk is worth
 * @expr: digest of the expression
 * @set: whose inputs are in it: sum of their digests; or, in the order of
 *	participants, first << 48 | last << 32 | chunk
 */
struct check_value {
	u64 expr;
	u64 set;
};

/**
 * struct check - working state
 *
 * A slot is one chunk of one step's range. A cell is a chunk of W, or behind those, one
 * of TMP.
 */
struct check {
	struct coll_check *c;
	u32 n;
	u32 chunks;
	u32 cells;
	u32 nr;			/* steps */
	u32 nr_slots;
	u32 max_round;
	bool in_place;

	struct coll_step *steps;
	u32 *base;		/* [n + 1] first step of a participant */
	u32 *owner;		/* [nr] participant */
	u32 *slot;		/* [nr + 1] first slot of a step */

	/* recvs[i] receives sends[i]; transfers of one sender to one receiver are adjacent */
	u32 *sends;		/* [nr] */
	u32 *recvs;		/* [nr] */
	u32 *pos;		/* [nr] index in the one or the other */
	u32 nr_sends;

	/* order */
	u32 *key;		/* [nr] when it may happen */
	u32 *key_start;		/* [max_key + 2] */
	u32 *order;		/* [nr] steps, none before what it waits for */
	u32 *level;		/* [nr] transfers in the longest chain so far */
	u32 *cursor;		/* [n] steps before it count in fence_... */
	u32 *fence_level;	/* [n] */

	/* who has started: only tokens have sets, payload has to know all */
	u8 *all;		/* [nr] all are known */
	u32 *token;		/* [nr] number of the set */
	u64 *know;		/* [nr_tokens * words] */
	u64 *fence_know;	/* [n * words] */
	u8 *fence_all;		/* [n] */
	u32 nr_tokens;
	u32 words;		/* of a set of participants; 0: not asked for */

	/*
	 * The way of data is two forests. The parent of a step is the step that its bytes
	 * come from, or the step before it in the same place.
	 */
	u32 *pre[2];		/* [nr] preorder number */
	u32 *below[2];		/* [nr] size of the subtree */
	u32 *stamp;		/* [nr] search that visited the step */
	u32 *queue;		/* [2 * nr] */
	u32 searches;
	u32 *writer;		/* [cells] last step that wrote it */
	u32 *readers;		/* [cells] slots of what has read it since then */
	u32 *reader_next;	/* [nr_slots] */
	u32 *from;		/* [nr_slots] slot the range was read from */
	u32 *other;		/* [nr_slots] slot the other operand was read from */
	u32 *slot_step;		/* [nr_slots] */
	struct check_value *value;	/* [nr_slots] */
	struct check_value *final;	/* [chunks] the first one's */
	u64 *full;		/* [chunks] set of every participant's inputs */
};

/* Record what is wrong and where; returns -EINVAL. */
static inline int check_fail(struct check *k, u32 x, const char *error)
{
	k->c->error = error;
	k->c->participant = k->owner[x];
	k->c->step = x - k->base[k->owner[x]];
	return -EINVAL;
}

/* The same, of a participant as a whole. */
static inline int check_fail_at(struct check *k, u32 participant, const char *error)
{
	k->c->error = error;
	k->c->participant = participant;
	k->c->step = NONE;
	return -EINVAL;
}

static inline bool is_send(const struct check *k, u32 x)
{
	return k->steps[x].kind == COLL_STEP_SEND;
}

static inline bool is_recv(const struct check *k, u32 x)
{
	return k->steps[x].kind == COLL_STEP_RECV;
}

static inline bool is_fence(const struct check *k, u32 x)
{
	return k->steps[x].flags & COLL_STEP_FENCE;
}

static inline u32 step_dep(const struct check *k, u32 x)
{
	u32 dep = k->steps[x].dep;

	return dep == NONE ? NONE : k->base[k->owner[x]] + dep;
}

/* The other end of a transfer. */
static inline u32 step_pair(const struct check *k, u32 x)
{
	return is_send(k, x) ? k->recvs[k->pos[x]] : k->sends[k->pos[x]];
}

static inline bool same_link(const struct check *k, u32 x, u32 y)
{
	return k->owner[x] == k->owner[y] && k->steps[x].peer == k->steps[y].peer;
}

/* Transfer before this one on its link, the same kind of step; or NONE. */
static inline u32 link_prev(const struct check *k, u32 x)
{
	const u32 *list = is_send(k, x) ? k->sends : k->recvs;
	u32 i = k->pos[x];

	return i && same_link(k, x, list[i - 1]) ? list[i - 1] : NONE;
}

/* Does the step read inputs, as operands or by moving or sending them? */
static inline bool reads_input(const struct coll_step *s)
{
	return s->action == COLL_ACT_INPUT || s->action == COLL_ACT_REDUCE_IN ||
	       s->action == COLL_ACT_FOLD_INPUT ||
	       (s->action == COLL_ACT_MOVE && s->from_space == COLL_SPACE_INPUT) ||
	       (s->kind == COLL_STEP_SEND && s->space == COLL_SPACE_INPUT);
}

/* Does it read its range, of W or TMP? */
static inline bool reads_range(const struct coll_step *s)
{
	return (s->kind == COLL_STEP_SEND && s->space != COLL_SPACE_INPUT) ||
	       s->action == COLL_ACT_REDUCE || s->action == COLL_ACT_FOLD_INPUT ||
	       s->action == COLL_ACT_FOLD;
}

/* Does it read another range of W or TMP? */
static inline bool reads_other(const struct coll_step *s)
{
	return s->action == COLL_ACT_FOLD ||
	       (s->action == COLL_ACT_MOVE && s->from_space != COLL_SPACE_INPUT);
}

/* Which chunk of the inputs goes with chunk @i of its range? */
static inline u32 input_chunk(const struct check *k, const struct coll_step *s, u32 i)
{
	if (s->action == COLL_ACT_MOVE)
		return s->from + i;
	return (s->chunk + i) % k->chunks;
}

static inline u32 cell_of(const struct check *k, u32 space, u32 chunk)
{
	return space == COLL_SPACE_TMP ? k->chunks + chunk : chunk;
}

/* A digest of an ordered pair; the mixer is explained in wire.c. */
static inline u64 check_digest(u64 a, u64 b)
{
	u64 h = (a ^ 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL + b;

	h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
	return h ^ h >> 31;
}

#endif /* COLL_PURE_CHECK_STATE_H */
