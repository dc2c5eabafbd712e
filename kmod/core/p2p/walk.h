/* SPDX-License-Identifier: GPL-2.0 */
/* Walks over all messages of a group, a batch at a time. */
#ifndef COLL_CORE_WALK_H
#define COLL_CORE_WALK_H

#include <linux/types.h>

struct coll_group;
struct coll_group_part;

extern const struct coll_group_part coll_p2p_part;

/**
 * coll_msgs_without() - mark a node as unreachable for messages
 * @g: group
 * @node: its communicator has failed
 *
 * No message to or from @node can be posted any more, and its offers are dropped. Return: true if a
 * message in flight needs @node, or is a receive from any rank that may wait for a rank of @node.
 */
bool coll_msgs_without(struct coll_group *g, u32 node);

#endif /* COLL_CORE_WALK_H */
