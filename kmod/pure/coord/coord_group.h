/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Entries by group: the pending ones, until it is decided that they end or start. */
#ifndef COLL_PURE_COORD_GROUP_H
#define COLL_PURE_COORD_GROUP_H

#include "coord_types.h"

/* A pending entry belongs to the group it asks for, if it asks for one. */
void coll_coord_group_add(struct coll_coord *c, struct coll_coord_entry *e);

/* The entry is about to end or to start. */
void coll_coord_group_del(struct coll_coord *c, struct coll_coord_entry *e);

/* At the root: the entry is the one of its group in @c->held. */
void coll_coord_group_lead(struct coll_coord *c, struct coll_coord_entry *e);

/* At the root: the entry is no longer that one, as all of the group is ready. */
void coll_coord_group_unlead(struct coll_coord *c, struct coll_coord_entry *e);

/* At the root: the entry of a group in @c->held; NULL: there is none. */
struct coll_coord_entry *coll_coord_group_leader(struct coll_coord *c, u64 group);

/* At the root: begin to visit the entries of the group of @e, at c->go_at. */
void coll_coord_group_walk(struct coll_coord *c, struct coll_coord_entry *e);

/* The next one. NULL: there is none, and c->go_at is NULL. */
struct coll_coord_entry *coll_coord_group_walk_next(struct coll_coord *c);

/* The entry of a group behind @e; NULL: the first one. Return: NULL if there is none. */
struct coll_coord_entry *coll_coord_group_next(struct coll_coord *c, u64 group,
					       struct coll_coord_entry *e);

#endif /* COLL_PURE_COORD_GROUP_H */
