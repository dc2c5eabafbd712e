/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a tensor: its memory, the table it waits in, its end. */
#ifndef COLL_CORE_TENSOR_LIFE_H
#define COLL_CORE_TENSOR_LIFE_H

#include <linux/gfp.h>

#include "tensors.h"

/* When the module is loaded, and unloaded. */
int coll_tensor_cache_init(void);
void coll_tensor_cache_exit(void);

/*
 * Memory for a tensor of @m, and for its op; charged to the active memcg. Return: zeroed, except for
 * ->req.member, ->op and what a new one needs; NULL.
 */
struct coll_tensor_req *coll_tensor_alloc(struct coll_member *m, gfp_t gfp);

/* Free a tensor that has not been posted, or has been collected. */
void coll_tensor_free(struct coll_tensor_req *t);

/* An entry for a name, charged to the group. Sleeps. NULL: no memory, or too many names. */
struct coll_coord_entry *coll_tensor_entry(struct coll_group *g);

/* Free an entry that the coordinator does not have. @e may be NULL. */
void coll_tensor_entry_free(struct coll_group *g, struct coll_coord_entry *e);

/* A tensor is done: coll_req.done of tensors. */
void coll_tensor_done(struct coll_req *req, int result);

/* A tensor of a fusion is over before the others: coll_fusion.over. */
void coll_tensor_over(struct coll_req *first, struct coll_req *req);

/* Put a tensor into the table. Under group->lock. */
void coll_tensor_wait(struct coll_tensors *ts, struct coll_tensor_req *t);

/* A tensor does not wait any more. Under group->lock. */
void coll_tensor_unwait(struct coll_tensors *ts, struct coll_tensor_req *t);

/* Arm the timer for the first deadline. Under group->lock. */
void coll_tensors_arm(struct coll_tensors *ts);

/* Set the time at which coll_tensors_deadline() checks the tensor. Under group->lock. */
void coll_tensor_set_alarm(struct coll_tensors *ts, struct coll_tensor_req *t, u64 when);

/* Take a waiting tensor out of a group of the member; NULL: none is left. Under group->lock. */
struct coll_tensor_req *coll_tensor_ungroup_first(struct coll_member *m, u64 digest);

/* A tensor has ended by itself, because of @bad. Under group->lock. */
void coll_tensor_end(struct coll_tensors *ts, struct coll_tensor_req *t,
		     const struct coll_coord_bad *bad);

/* Make a tensor the next op of its rank. Under group->lock. Return: as coll_op_post_ordered(). */
int coll_tensor_post_op(struct coll_tensor_req *t);

#endif /* COLL_CORE_TENSOR_LIFE_H */
