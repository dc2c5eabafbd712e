/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Callbacks of rooms that have state in each group: coll_parts_X() calls the callback X of every
 * struct coll_group_part, see group.h.
 */
#ifndef COLL_CORE_PARTS_H
#define COLL_CORE_PARTS_H

#include <linux/types.h>

struct coll_group;
struct coll_group_part;
struct coll_left;

/* Set the list, which ends with NULL. Once, at load. */
void coll_parts_set(const struct coll_group_part *const *parts);

/* Return: 0, or the first error, at which it stops. */
int coll_parts_init(struct coll_group *g, u32 flags);
void coll_parts_leaving_locked(struct coll_group *g, struct coll_left *l);
void coll_parts_left(struct coll_group *g, u32 rank);
void coll_parts_failing_locked(struct coll_group *g);
void coll_parts_fail(struct coll_group *g);
void coll_parts_quiesce(struct coll_group *g);
/* Calls the last part first. */
void coll_parts_free(struct coll_group *g);

#endif /* COLL_CORE_PARTS_H */
