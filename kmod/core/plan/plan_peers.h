/* SPDX-License-Identifier: GPL-2.0 */
/* The transfers of a plan, sorted by peer. */
#ifndef COLL_CORE_PLAN_PEERS_H
#define COLL_CORE_PLAN_PEERS_H

#include <linux/types.h>

struct coll_plan;

/**
 * coll_plan_pairs() - join transfers between participants of this node
 * @p: plan, all steps placed
 *
 * Return: 0; -ENOMEM; -EBADE if their lengths differ.
 */
int coll_plan_pairs(struct coll_plan *p);

/**
 * coll_plan_peers() - put the transfers with each peer node into their order
 * @p: plan, all steps placed, pairs joined
 *
 * Return: 0; -ENOMEM; -ENOTCONN if there is no link.
 */
int coll_plan_peers(struct coll_plan *p);

/* Node that a participant lives on. */
u32 coll_plan_node(const struct coll_plan *p, u32 participant);

#endif /* COLL_CORE_PLAN_PEERS_H */
