/* SPDX-License-Identifier: GPL-2.0 */
/* References to a group. The last one queues the work that tears it down, see group.h. */
#ifndef COLL_CORE_REF_H
#define COLL_CORE_REF_H

struct coll_group;

/* Any context. */
void coll_group_get(struct coll_group *g);
void coll_group_put(struct coll_group *g);

#endif /* COLL_CORE_REF_H */
