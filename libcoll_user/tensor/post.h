/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Posts named tensors. */
#ifndef LIBCOLL_TENSOR_POST_H
#define LIBCOLL_TENSOR_POST_H

#include "tensors.h"

/**
 * struct tensor_group - tensors that start together, or not at all
 * @digest: of their names
 * @members: number of tensors
 */
struct tensor_group {
	uint64_t digest;
	uint32_t members;
};

/*
 * Post @n tensors; of a group, all or none. Return: 0, or the error of the tensor after the first
 * @posted ones.
 */
int tensor_post_many(coll_tensors_t *ts, coll_tensor_t *const *t, size_t n,
		     const struct tensor_group *group, size_t *posted);
/* Make @n tensors and post them; see coll_tensor_submitall(). */
int tensor_submit_many(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
		       const struct tensor_group *group, coll_tensor_t **tensors,
		       size_t *posted);

#endif
