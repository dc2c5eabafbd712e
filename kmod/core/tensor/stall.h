/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tensors that some ranks have posted and others have not: for how long, which ranks are
 * missing, and in which state they are. Each node knows that of its own ranks. About other
 * nodes it knows only which children in the tree have not reported.
 *
 * Names that are pending are in one of three lists, each with the oldest one first. One timer
 * moves them on. It is armed by the first name, and again only while a name is pending.
 */
#ifndef COLL_CORE_STALL_H
#define COLL_CORE_STALL_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include <linux/coll.h>

#include "../limits.h"

struct coll_coord;
struct coll_coord_entry;
struct coll_group;
struct coll_tensor_name;
struct coll_tensors;

enum coll_stall_list {
	COLL_STALL_FRESH,	/* younger than the threshold */
	COLL_STALL_TOLD,	/* has been reported */
	COLL_STALL_ENDED,	/* coll_stalls_end_locked() has dealt with it */
	COLL_NR_STALL_LISTS
};

/**
 * struct coll_stall - a tensor that is pending
 * @serial: grows with the time of the first post
 * @age_ns: time since then
 * @name_len: bytes of @name
 * @name: not terminated
 */
struct coll_stall {
	u64 serial;
	u64 age_ns;
	u32 name_len;
	u8 name[COLL_TENSOR_NAME_MAX];
};

/**
 * struct coll_stall_rank - what it waits for
 * @state: enum coll_nl_stall_state
 * @rank: that rank, or COLL_RANK_NONE
 * @node: its node, or COLL_RANK_NONE
 * @pid: its process, 0 if unknown
 * @known: it has posted the name before
 */
struct coll_stall_rank {
	u32 state;
	u32 rank;
	u32 node;
	u32 pid;
	bool known;
};

/**
 * struct coll_stall_cursor - a place in the list of what tensors wait for
 * @serial: the next tensor is this one or a later one
 * @place: the next place in it; local ranks come first, then all ranks, by number
 * @end: tensors from this serial on are not wanted; 0: those that are posted from now on
 */
struct coll_stall_cursor {
	u64 serial;
	u32 place;
	u64 end;
};

/**
 * struct coll_stalls - pending names of a group; group->lock
 * @list: struct coll_tensor_name, by enum coll_stall_list
 * @next: serial number of the next one
 * @looks: how often the timer has run
 * @work: the timer. Only its work item uses the fields below, so they need no lock.
 * @stall: the tensor that is reported
 * @ranks: what it waits for, the first @nr
 * @nr: number of ranks in @ranks
 * @more: number of ranks that are not in @ranks
 * @text: of the log
 */
struct coll_stalls {
	struct list_head list[COLL_NR_STALL_LISTS];
	u64 next;
	u64 looks;
	struct delayed_work work;
	struct coll_stall stall;
	struct coll_stall_rank ranks[COLL_STALL_RANKS];
	u32 nr;
	u32 more;
	char text[COLL_STALL_TEXT];
};

/* Called for a tensor that stalls. Process context, no locks. */
typedef void coll_stall_fn(struct coll_group *g, const struct coll_stall *s,
			   const struct coll_stall_rank *ranks, u32 nr);

/* Set once at load, before the device exists. */
void coll_stall_set_notify(coll_stall_fn *fn);

void coll_stalls_init(struct coll_tensors *ts);

/* Nothing is pending any more. Sleeps. */
void coll_stalls_quiesce(struct coll_tensors *ts);

/* coll_coord_ops.pending of a group. */
void coll_stalls_pending(struct coll_coord *c, struct coll_coord_entry *e, bool is);

/**
 * coll_stall_next() - what a pending tensor waits for
 * @g: group
 * @at: place to begin at; result: the place behind
 * @s: result: the tensor
 * @r: result: what it waits for
 *
 * Only the COLL_STALL_SHOWN oldest tensors are looked at. Return: false: there is no more.
 */
bool coll_stall_next(struct coll_group *g, struct coll_stall_cursor *at, struct coll_stall *s,
		     struct coll_stall_rank *r);

/* How often the timer of a group has run. */
u64 coll_stall_looks(struct coll_group *g);

#endif /* COLL_CORE_STALL_H */
