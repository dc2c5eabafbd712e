/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Calls of the ranks of a node, and the test whether a tensor is ready. */
#ifndef COLL_PURE_COORD_H
#define COLL_PURE_COORD_H

#include "coord_types.h"

/**
 * coll_coord_post() - a local rank submits a tensor
 * @c: coordinator
 * @local: number of the local rank
 * @name: name
 * @len: its bytes
 * @p: parameters
 * @spare: points to zeroed memory for an entry, of coll_coord_entry_bytes(), or to NULL. The
 *	memory is taken, and *@spare set to NULL, if the name is new.
 * @entry: result: the entry
 *
 * Each submitted tensor ends by one call of ops->start or ops->end, which may come only from
 * coll_coord_run(). Return: 0. Otherwise nothing has been submitted: -EINVAL for a wrong name or
 * parameter; -EOVERFLOW for the shape; -EEXIST if it is pending; -EBUSY if the rank has joined;
 * -ECANCELED if this round has ended without this rank, and @entry->end.bad says why; -ESHUTDOWN
 * if a rank has left; -ENOMEM: call again with a spare entry; -ENOSPC for too many names.
 *
 * If a member of a group is refused, the caller withdraws the others: coll_coord_give_up() for
 * those that have been submitted, coll_coord_refuse() for that one and the rest.
 */
int coll_coord_post(struct coll_coord *c, u32 local, const void *name, u32 len,
		    const struct coll_coord_params *p, struct coll_coord_entry **spare,
		    struct coll_coord_entry **entry);

/**
 * coll_coord_refuse() - a local rank could not submit a member of a group
 * @c: coordinator
 * @local: number of the local rank
 * @name: name
 * @len: its bytes
 * @group: digest of the group, not 0
 * @spare: as of coll_coord_post()
 * @entry: result: the entry, whose round ends by one call of ops->end; NULL: it has ended
 *
 * The round of the name ends as if the rank had submitted it and given it up: what a rank submits
 * for the n-th time is about round n. Return: 0, or nothing has happened: -EEXIST it is pending;
 * else as coll_coord_post().
 */
int coll_coord_refuse(struct coll_coord *c, u32 local, const void *name, u32 len, u64 group,
		      struct coll_coord_entry **spare, struct coll_coord_entry **entry);

/**
 * coll_coord_join() - a local rank submits nothing more until all have joined
 * @c: coordinator
 * @local: number of the local rank
 *
 * Return: 0, and one call of ops->joined or ops->left follows; -EBUSY if it has joined already;
 * -ESHUTDOWN if a rank has left.
 */
int coll_coord_join(struct coll_coord *c, u32 local);

/* A local rank leaves for good. All that is pending anywhere ends. */
void coll_coord_leave(struct coll_coord *c, u32 local);

/**
 * coll_coord_give_up() - a local rank does not want what it has submitted any more
 * @c: coordinator
 * @e: entry; it may have started, or be about to
 * @local: number of the local rank
 * @cause: COLL_BAD_TIMEOUT its deadline has passed, COLL_BAD_GROUP another member of its
 *	group has been refused
 */
void coll_coord_give_up(struct coll_coord *c, struct coll_coord_entry *e, u32 local, u32 cause);

/**
 * coll_coord_go_on() - look at more of what is pending, since a rank or a child has joined
 * @c: coordinator
 *
 * The call that reported the join has looked at the first @c->looks entries. The caller then calls
 * coll_coord_run(). Return: whether there are more.
 */
bool coll_coord_go_on(struct coll_coord *c);

/* A rank asks for @p: compare it with what the others ask for. */
void coll_coord_merge(struct coll_coord_entry *e, const struct coll_coord_params *p, u32 rank);

/* Something about the entry has changed: if it has become ready, tell the parent. */
void coll_coord_look(struct coll_coord *c, struct coll_coord_entry *e);

/*
 * Children whose ranks have all joined, and which have received the last order about @e. The others
 * that have joined could not store one more order of this name.
 */
u32 coll_coord_with(const struct coll_coord *c, const struct coll_coord_entry *e);

/* All nodes of this subtree have received the orders up to this one. */
u64 coll_coord_got(const struct coll_coord *c);

/* A rank or a child has joined: look at what is pending, as coll_coord_go_on(). */
void coll_coord_look_joined(struct coll_coord *c);

/* A rank leaves. If several do, the first one counts. */
void coll_coord_leaves(struct coll_coord *c, u32 rank);

/* Has every local rank submitted the entry, or joined? */
bool coll_coord_local_ready(const struct coll_coord *c, const struct coll_coord_entry *e);

#endif /* COLL_PURE_COORD_H */
