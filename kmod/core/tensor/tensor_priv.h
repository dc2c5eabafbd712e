/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of named collectives share. All under group->lock. */
#ifndef COLL_CORE_TENSOR_PRIV_H
#define COLL_CORE_TENSOR_PRIV_H

#include "tensor.h"

/**
 * struct coll_tensor_slot - a local rank and a name
 * @waits: what it has posted, while that waits
 * @posted: it has posted the name at least once
 */
struct coll_tensor_slot {
	struct coll_tensor_req *waits;
	bool posted;
};

/**
 * struct coll_tensor_name - what the kernel keeps of a name; coll_coord_entry.user
 * @entry: that name; the rest up to @slots is valid while it is pending
 * @list: in group->tensors->stalls
 * @since: when it became pending on this node, ns
 * @serial: see struct coll_stall
 * @slots: by local rank
 */
struct coll_tensor_name {
	struct coll_coord_entry *entry;
	struct list_head list;
	u64 since;
	u64 serial;
	struct coll_tensor_slot slots[];
};

/* Of a local rank and a name. */
static inline struct coll_tensor_slot *coll_tensor_slot(struct coll_coord_entry *e, u32 local)
{
	struct coll_tensor_name *n = e->user;

	return &n->slots[local];
}

/* tensor.c */

/* It waits no more. */
void coll_tensor_unwait(struct coll_tensors *ts, struct coll_tensor_req *t);

/* It becomes the next op of its rank. Return: as coll_op_post_ordered(). */
int coll_tensor_post_op(struct coll_tensor_req *t);

/* tensor_talk.c */

/* The child whose subtree a node is in; COLL_COORD_FANOUT: none. */
u32 coll_tensors_below(const struct coll_tensors *ts, u32 node);

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
