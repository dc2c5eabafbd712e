/* SPDX-License-Identifier: GPL-2.0 */
/* All messages of a group are looked at, a slice at a time. */
#ifndef COLL_CORE_WALK_H
#define COLL_CORE_WALK_H

#include <linux/types.h>

struct coll_group;
struct coll_group_part;

extern const struct coll_group_part coll_p2p_part;

/**
 * coll_msgs_without() - a node is there no more, as far as messages go
 * @g: group
 * @node: its communicator has failed
 *
 * None to or from it can be posted any more. Return: true if one is in flight.
 */
bool coll_msgs_without(struct coll_group *g, u32 node);

#endif /* COLL_CORE_WALK_H */
