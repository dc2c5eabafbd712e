/* SPDX-License-Identifier: GPL-2.0 */
/* Fusions: several tensors as one vector, see group/fusion.h. */
#ifndef COLL_CORE_PLAN_FUSE_H
#define COLL_CORE_PLAN_FUSE_H

struct coll_op;
struct coll_plan;
struct coll_req;

/**
 * coll_fuse_vectors() - make the vectors of a fusion from pieces of the vectors of its tensors
 * @op: about to be prepared
 *
 * The tensors still own what they hold. Return: 0, also if @op is no fusion or has its vectors;
 * -ENOMEM; -EBADE if a vector is too short; -EINVAL if there is no such algorithm.
 */
int coll_fuse_vectors(struct coll_op *op);

/* The chunks of a plan are known: sets its @marks. Return: 0 or -ENOMEM. */
int coll_plan_marks(struct coll_plan *p);

/* The tensor behind @req in its fusion, which begins with @first; NULL: it is the last one. */
struct coll_req *coll_fused_next(const struct coll_req *first, struct coll_req *req);

#endif /* COLL_CORE_PLAN_FUSE_H */
