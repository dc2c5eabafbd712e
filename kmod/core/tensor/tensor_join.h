/* SPDX-License-Identifier: GPL-2.0 */
/* Ranks that have joined, and requests that stand in for them. */
#ifndef COLL_CORE_TENSOR_JOIN_H
#define COLL_CORE_TENSOR_JOIN_H

#include "tensors.h"

/**
 * coll_tensor_join() - post nothing more until all ranks have joined
 * @t: with @tag set, and no command
 *
 * coll_tensors_flush() is to follow. Return: 0: @t will be collected when all have
 * joined. Otherwise the rank has not joined: -EBUSY if it had already; -EAGAIN; or the sticky error
 * of the group.
 */
int coll_tensor_join(struct coll_tensor_req *t);

/**
 * coll_tensors_stand_in() - local ranks that have joined take part in a tensor
 * @ts: of the group; under group->lock
 * @e: the tensor that starts; the ranks that have posted it have their ops
 * @divisor: see struct coll_req
 */
void coll_tensors_stand_in(struct coll_tensors *ts, struct coll_coord_entry *e, u32 divisor);

/* All have joined, @rank last. Under group->lock. */
void coll_tensors_joined(struct coll_tensors *ts, u32 rank);

#endif /* COLL_CORE_TENSOR_JOIN_H */
