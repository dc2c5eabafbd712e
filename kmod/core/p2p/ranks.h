/* SPDX-License-Identifier: GPL-2.0 */
/* Finds out which ranks can still be sent to, and received from. */
#ifndef COLL_CORE_RANKS_H
#define COLL_CORE_RANKS_H

#include <linux/types.h>

struct coll_cmd;
struct coll_group;

/* Local index of @rank, which is on this node. */
u32 coll_msg_local(const struct coll_group *g, u32 rank);

/* Can there be a message to or from @rank? Under group->lock. Return: 0 or a negative errno. */
int coll_msg_check_rank(const struct coll_group *g, u32 rank);

/**
 * coll_msg_missed() - a command has been refused with -EHOSTDOWN
 * @g: group
 * @c: the command
 *
 * If the ranks that it needs have left in order, only this command fails. If the node of one of them
 * has failed because of a collective, it is unknown for which messages its ranks still wait: the
 * communicator fails with the cause of that node. No locks.
 */
void coll_msg_missed(struct coll_group *g, const struct coll_cmd *c);

/* Have all other ranks left? Under group->lock. */
bool coll_msgs_alone(const struct coll_group *g);

#endif /* COLL_CORE_RANKS_H */
