/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the files of the checker share. Steps of all participants are numbered
 * through; NONE is no step.
 */
#ifndef COLL_PURE_CHECK_PRIV_H
#define COLL_PURE_CHECK_PRIV_H

#include "check.h"

#define NONE	COLL_DEP_NONE

/**
 * struct check - working state
 *
 * A slot is one chunk of one step's range.
 */
struct check {
	struct coll_check *c;
	u32 n;
	u32 chunks;
	u32 nr;			/* steps */
	u32 nr_slots;

	struct coll_step *steps;
	u32 *base;		/* [n + 1] first step of a participant */
	u32 *owner;		/* [nr] participant */
	u32 *slot;		/* [nr + 1] first slot of a step */

	/* links: sends[i] pairs with recvs[i]; those of a link are neighbours */
	u32 *sends;		/* [nr] */
	u32 *recvs;		/* [nr] */
	u32 *pos;		/* [nr] index in the one or the other */
	u32 nr_sends;

	/* run */
	u32 *order;		/* [nr] steps as they complete */
	u32 *level;		/* [nr] transfers in the longest chain so far */
	u32 *dep_head;		/* [nr] steps that depend on this one */
	u32 *dep_next;		/* [nr] */
	u32 *cursor;		/* [n] first step a fence cannot pass yet */
	u32 *fence_level;	/* [n] level of all before the cursor */
	u8 *pending;		/* [nr] events this step still waits for */
	u8 *done;		/* [nr] */
	u64 *know;		/* [nr * words] who is known to have started */
	u64 *know_end;		/* [words] */
	u32 words;		/* of a set of participants; 0: not asked for */

	/* data: the forest in which a step's parent is where its bytes come from */
	u32 *pre;		/* [nr] preorder number */
	u32 *below;		/* [nr] size of the subtree */
	u32 *stamp;		/* [nr] search that visited the step */
	u32 *queue;		/* [nr] */
	u32 searches;
	u32 *writer;		/* [chunks] last step that wrote it */
	u32 *readers;		/* [chunks] slots of sends since then */
	u32 *reader_next;	/* [nr_slots] */
	u32 *from;		/* [nr_slots] slot W was read from */
	u32 *slot_step;		/* [nr_slots] */
	u64 *value;		/* [nr_slots] digest of the expression */
	u64 *final_value;	/* [chunks] */
	u32 *final_slot;	/* [chunks] of the participant looked at */
	u32 *seen;		/* [n] */
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

static inline u32 link_next(const struct check *k, u32 x)
{
	const u32 *list = is_send(k, x) ? k->sends : k->recvs;
	u32 i = k->pos[x] + 1;

	return i < k->nr_sends && same_link(k, x, list[i]) ? list[i] : NONE;
}

/* check_run.c: deadlock, latency, who has started before what */
int check_run(struct check *k);
int check_started(struct check *k);

/* check_data.c: races, expressions, outputs */
int check_races(struct check *k);
int check_values(struct check *k);

#endif /* COLL_PURE_CHECK_PRIV_H */
