/* SPDX-License-Identifier: GPL-2.0 */
/* Ranks that post no more ops, on this node and on others. */
#ifndef COLL_CORE_LEAVE_H
#define COLL_CORE_LEAVE_H

#include <linux/types.h>

struct coll_bye;
struct coll_group;
struct coll_member;

/**
 * coll_group_left() - a rank will post no more ops
 * @m: member with a group and nothing pending
 *
 * A later op that needs the rank fails the communicator with EHOSTDOWN; ops up to its last one
 * go on. Messages that wait for the rank end with EHOSTDOWN, and other messages go on. Later
 * calls do nothing.
 */
void coll_group_left(struct coll_member *m);

/**
 * coll_group_remote_bye() - a rank of another node leaves
 * @g: group
 * @b: from that node; the rank is on it
 *
 * As coll_group_left(), of a rank of another node. Return: 0; -EPROTO: @b does not fit @g.
 */
int coll_group_remote_bye(struct coll_group *g, const struct coll_bye *b);

#endif /* COLL_CORE_LEAVE_H */
