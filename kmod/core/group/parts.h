/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rooms above that keep something in a group: each of these functions calls the
 * function of that name of every struct coll_group_part, see group.h.
 */
#ifndef COLL_CORE_PARTS_H
#define COLL_CORE_PARTS_H

#include <linux/types.h>

struct coll_group;
struct coll_group_part;

/* Once at load: the list, ended by NULL. */
void coll_parts_set(const struct coll_group_part *const *parts);

/* Stops at the first error, and returns it. */
int coll_parts_init(struct coll_group *g, u32 flags);
void coll_parts_left(struct coll_group *g, u32 rank);
void coll_parts_failing_locked(struct coll_group *g);
void coll_parts_fail(struct coll_group *g);
void coll_parts_quiesce(struct coll_group *g);
/* The last part first. */
void coll_parts_free(struct coll_group *g);

#endif /* COLL_CORE_PARTS_H */
