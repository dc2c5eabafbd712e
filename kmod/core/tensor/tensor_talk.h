/* SPDX-License-Identifier: GPL-2.0 */
/* Records about tensors between nodes. */
#ifndef COLL_CORE_TENSOR_TALK_H
#define COLL_CORE_TENSOR_TALK_H

#include "tensors.h"

/* The child whose subtree a node is in; COLL_COORD_FANOUT: none. */
u32 coll_tensors_below(const struct coll_tensors *ts, u32 node);

/* Set the place of this node in the tree. */
void coll_tensors_plant(struct coll_tensors *ts);

/* Are there links to the nodes that this one talks to? */
bool coll_tensors_linked(struct coll_group *g);

/* Wake the links to nodes that are to be told something. Any context, no locks. */
void coll_tensors_call(struct coll_group *g);

/**
 * coll_tensors_say() - records for another node
 * @g: group
 * @node: node
 * @buf: room
 * @room: COLL_WIRE_TENSOR_MAX
 *
 * They count as sent. Return: bytes; 0: there is nothing to say.
 */
u32 coll_tensors_say(struct coll_group *g, u32 node, u8 *buf, u32 room);

/*
 * May coll_tensors_say() have records for another node? If it has had none after all, the next call
 * of this function returns false. False if the group has failed.
 */
bool coll_tensors_owe(struct coll_group *g, u32 node);

/**
 * coll_tensors_hear() - records of another node
 * @g: group
 * @node: node
 * @buf: records
 * @len: their bytes
 *
 * Process context; may be under a socket lock. Return: 0, or -EPROTO: a record is wrong.
 */
int coll_tensors_hear(struct coll_group *g, u32 node, const u8 *buf, u32 len);

#endif /* COLL_CORE_TENSOR_TALK_H */
