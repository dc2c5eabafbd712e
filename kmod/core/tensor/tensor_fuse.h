/* SPDX-License-Identifier: GPL-2.0 */
/* Fusions: which tensors start together as one op, and how this op is made. */
#ifndef COLL_CORE_TENSOR_FUSE_H
#define COLL_CORE_TENSOR_FUSE_H

#include "tensors.h"

/* Set the limits of fusions, see struct coll_tensor_fuse. The group has tensors. */
void coll_tensors_set_fusion(struct coll_group *g, u64 threshold, u32 most, u32 ahead);

/* The counts since the group was made. The group has tensors. */
void coll_tensors_count(struct coll_group *g, struct coll_tensor_counts *n);

/*
 * Most bytes of a fusion that begins with @first, so that its partial results take no more than
 * COLL_SCRATCH_MAX. See struct coll_coord_ops.
 */
u64 coll_tensors_fit_bytes(struct coll_coord *c, const struct coll_coord_entry *first);

/* May @e be in a fusion that begins with @first? See struct coll_coord_ops. */
bool coll_tensors_fit(struct coll_coord *c, const struct coll_coord_entry *first,
		      const struct coll_coord_entry *e);

/**
 * coll_tensors_fuse() - a tensor of a fusion starts
 * @ts: of the group
 * @e: its name
 * @divisor: see struct coll_req
 * @last: it is the last one: the op is posted
 */
void coll_tensors_fuse(struct coll_tensors *ts, struct coll_coord_entry *e, u32 divisor,
		       bool last);

/* The group has failed: take a tensor of an unfinished fusion, to end it; NULL: none is left. */
struct coll_tensor_req *coll_tensors_unfuse(struct coll_tensors *ts);

#endif /* COLL_CORE_TENSOR_FUSE_H */
