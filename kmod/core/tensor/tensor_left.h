/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranks that have left, and tensors that wait for them.
 *
 * A rank leaves in order when all that it has posted has ended. Tensors that it has not posted
 * cannot start any more, and fail the group. But BYE of the rank may come before the orders that
 * ended its tensors: BYE comes directly from its node, orders come from the root, down the tree. So
 * BYE has the number of the last order that the node of the rank had applied, and does not count
 * before this node has applied that order, too. When all ranks of the parent node have left, no order
 * can come any more: a node sends its orders before the last BYE. Then every BYE counts.
 */
#ifndef COLL_CORE_TENSOR_LEFT_H
#define COLL_CORE_TENSOR_LEFT_H

#include "tensors.h"

struct coll_left;

/* coll_group_part.leaving_locked */
void coll_tensors_leaving_locked(struct coll_group *g, struct coll_left *l);

/*
 * Does a tensor wait for a rank that has left? Then the caller has to call coll_tensors_left()
 * after it has released the lock. Under group->lock.
 */
bool coll_tensors_miss_locked(const struct coll_tensors *ts);

/* coll_group_part.left */
void coll_tensors_part_left(struct coll_group *g, u32 rank);

/* If a tensor waits for a rank that has left: fail the group, after the last op of the rank. */
void coll_tensors_left(struct coll_group *g);

#endif /* COLL_CORE_TENSOR_LEFT_H */
