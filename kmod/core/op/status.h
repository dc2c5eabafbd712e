/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a communicator, as its members may see it. */
#ifndef COLL_CORE_STATUS_H
#define COLL_CORE_STATUS_H

#include <linux/coll.h>

struct coll_group;
struct coll_member;

/* Fill in all of @s, for a member in any state. */
void coll_member_status(struct coll_member *m, struct coll_status *s);

/* enum coll_state of a group. */
u32 coll_group_state(struct coll_group *g);

#endif /* COLL_CORE_STATUS_H */
