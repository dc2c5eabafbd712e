/* SPDX-License-Identifier: GPL-2.0 */
/* Which ranks can still be sent to, and received from. */
#ifndef COLL_CORE_RANKS_H
#define COLL_CORE_RANKS_H

#include <linux/types.h>

struct coll_group;

/* Index among the node's ranks of one that is of this node. */
u32 coll_msg_local(const struct coll_group *g, u32 rank);

/* Can there be a message to or from @rank, or any? Under group->lock. Return: 0 or why not. */
int coll_msg_check_rank(const struct coll_group *g, u32 rank);

/**
 * coll_msg_missed() - a command has been refused with -EHOSTDOWN
 * @g: group
 *
 * If all have left in order, this ends the message alone. If a node has failed because of a
 * collective, nobody knows what its ranks still wait for: the communicator fails as that node
 * did. No locks.
 */
void coll_msg_missed(struct coll_group *g);

/* Have all the others left? Under group->lock. */
bool coll_msgs_alone(const struct coll_group *g);

#endif /* COLL_CORE_RANKS_H */
