/* SPDX-License-Identifier: GPL-2.0 */
/* Named collectives: posts, deadlines, starts and ends. See tensors.h. */
#ifndef COLL_CORE_TENSOR_H
#define COLL_CORE_TENSOR_H

#include "tensors.h"

extern const struct coll_group_part coll_tensors_part;

/* May this member use named collectives? Return: 0, -EPERM, -ENOTCONN or -EOPNOTSUPP. */
int coll_tensors_check(struct coll_member *m);

/* Result of coll_tensor_post(): the tensor had ended before this rank posted it. */
#define COLL_TENSOR_OVER	1

/**
 * coll_tensor_post() - post a tensor
 * @t: with @req decoded and @tag set
 * @name: name
 * @len: its bytes
 * @p: parameters
 *
 * The caller has to call coll_tensors_flush() after one or several posts. Return: 0: the result
 * will be collected; COLL_TENSOR_OVER: the same, but the tensor had ended before the post.
 * Otherwise the tensor has not been posted: an error of COLL_IOC_TENSOR_POST. Sleeps.
 */
int coll_tensor_post(struct coll_tensor_req *t, const void *name, u32 len,
		     const struct coll_coord_params *p);

/* Has the rank posted or refused the tensor @name, of @len bytes, which has not started or ended? */
bool coll_tensor_is_pending(struct coll_member *m, const void *name, u32 len);

/* Order and start tensors that are ready, and let links send records. Process context, no locks. */
void coll_tensors_flush(struct coll_group *g);

/**
 * coll_tensors_settle() - do the work that had to wait until group->lock was free
 * @g: group
 *
 * Ends what has ended, starts ops, fails the group if a rank has left that others wait
 * for. Process context, no locks.
 */
void coll_tensors_settle(struct coll_group *g);

/* Is there anything to settle? Any context. */
bool coll_tensors_due(struct coll_group *g);

#endif /* COLL_CORE_TENSOR_H */
