/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The rules of the protocol, and helpers for the files of the coordinator. */
#ifndef COLL_PURE_COORD_PRIV_H
#define COLL_PURE_COORD_PRIV_H

#include "coord_types.h"

/*
 * The rules of the protocol. The model checker drops them one by one, and must find a fault
 * each time. In the kernel no rule is ever dropped.
 */
enum coll_coord_rule {
	COLL_RULE_LOCAL		= 1,	/* a node is ready when all its ranks are */
	COLL_RULE_CHILDREN,	/* and all its children */
	COLL_RULE_ONCE,		/* READY is said once in a round */
	COLL_RULE_STALE,	/* what is about an earlier round is ignored */
	COLL_RULE_ROUND,	/* each order begins a new round */
	COLL_RULE_CLEAR,	/* in which no child is ready */
	COLL_RULE_PENDING,	/* a rank submits a name once at a time */
	COLL_RULE_FORWARD,	/* each child gets each order */
	COLL_RULE_JOIN_LAST,	/* READY and FAIL go before JOIN */
	COLL_RULE_REJOIN,	/* a rank that joins may make ready what others wait for */
	COLL_RULE_LOOK_ALL,	/* all entries are checked for that before JOIN is said */
	COLL_RULE_GOT,		/* a node that has joined is ready once it has the last order */
	COLL_RULE_GOT_ALL,	/* and once all nodes below it have the last order */
	COLL_RULE_GOT_LOOK,	/* a GOT makes the node check the entries that wait for it again */
	COLL_RULE_GOT_JOIN,	/* JOIN is not said before all nodes below have the last order */
	COLL_RULE_UNJOIN,	/* JOINED clears children_joined */
	COLL_RULE_OWED,		/* a rank that has missed a round is told */
	COLL_RULE_FORGIVE,	/* a rank that has joined gets no error of a round it missed */
	COLL_RULE_GROUP,	/* a group is started when all of it is ready */
	COLL_RULE_GROUP_END,	/* and ends as a whole */
	COLL_RULE_GROUP_GOING,	/* or starts as a whole, once a member of it has started */
	COLL_RULE_GROUP_ADMIT,	/* nothing is ordered before all of c->fresh is in c->ready */
	COLL_RULE_GROUP_BUSY,	/* none of it ends while its members are marked as going */
	COLL_RULE_HELD,		/* a group that is not whole ends when all have joined */
	COLL_RULE_REFUSED,	/* a member that cannot be submitted counts as submitted */
	COLL_RULE_MISMATCH,	/* ranks that disagree end the tensor */
	COLL_RULE_DEADLINE,	/* the root is told when a rank gives a tensor up */
	COLL_RULE_LEFT,		/* what is pending ends when a rank leaves */
	COLL_RULE_JOINABLE,	/* a collective that needs all ranks ends when one has joined */
	COLL_RULE_FUSE_ALIKE,	/* a fusion is of what is alike */
	COLL_RULE_FUSE_ALL,	/* and of what all ranks have submitted */
	COLL_RULE_FUSE_LAST,	/* and has the same end on all nodes */
	COLL_RULE_WINDOW,	/* no more is started than there is room for */
	COLL_RULE_OVER,		/* what has ended makes room */
	COLL_NR_RULES
};

#ifdef COLL_CHECK_RULES
extern int coll_rule_dropped;
/* Entries that were visited. A test measures how many one call visits. */
extern unsigned int coll_visited;
#define coll_visit()		((void)coll_visited++)
#define coll_dropped(rule)	(coll_rule_dropped == (rule))
#else
static inline bool coll_dropped(enum coll_coord_rule rule)
{
	return false;
}

static inline void coll_visit(void)
{
}
#endif

static inline bool coll_bit(const u64 *map, u32 n)
{
	return map[n / 64] >> n % 64 & 1;
}

static inline void coll_bit_set(u64 *map, u32 n)
{
	map[n / 64] |= 1ULL << n % 64;
}

static inline void coll_bit_clear(u64 *map, u32 n)
{
	map[n / 64] &= ~(1ULL << n % 64);
}

/*
 * For each local rank: the number of rounds that have ended without it. A rank that has joined does
 * not get the errors of the rounds it missed. The counts are reset here, when a name is used next,
 * because resetting all names at once would take too long.
 */
static inline u32 *coll_coord_owed(const struct coll_coord *c, struct coll_coord_entry *e)
{
	u32 *owed = (u32 *)(e->ranks + c->nr_words);

	if (e->forgiven != c->forgiven)
		memset(owed, 0, c->nr_local * sizeof(*owed));
	e->forgiven = c->forgiven;
	return owed;
}

/* The digest of the group that @e belongs to; 0: it belongs to none. */
static inline u64 coll_coord_group(const struct coll_coord_entry *e)
{
	return e->is_wanted ? e->want.field[COLL_FIELD_GROUP] : 0;
}

#endif /* COLL_PURE_COORD_PRIV_H */
