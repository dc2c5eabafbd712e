/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of named collectives share. All under group->lock. */
#ifndef COLL_CORE_TENSOR_PRIV_H
#define COLL_CORE_TENSOR_PRIV_H

#include "tensor.h"

/* The tensor of each local rank, while it waits. */
static inline struct coll_tensor_req **coll_tensor_slots(struct coll_coord_entry *e)
{
	return e->user;
}

/* tensor.c */

/* It waits no more. */
void coll_tensor_unwait(struct coll_tensors *ts, struct coll_tensor_req *t);

/* tensor_join.c */

/**
 * coll_tensors_stand_in() - local ranks that have joined take part in a tensor
 * @ts: of the group
 * @e: it starts; those who have posted it have got their ops
 * @divisor: see struct coll_req
 */
void coll_tensors_stand_in(struct coll_tensors *ts, struct coll_coord_entry *e, u32 divisor);

/* All have joined, @rank last. */
void coll_tensors_joined(struct coll_tensors *ts, u32 rank);

#endif /* COLL_CORE_TENSOR_PRIV_H */
