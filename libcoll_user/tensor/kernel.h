/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The calls of the kernel. */
#ifndef LIBCOLL_TENSOR_KERNEL_H
#define LIBCOLL_TENSOR_KERNEL_H

#include "tensors.h"

/* Return: 0 or -errno; @posted says how many were posted. */
int tensors_post(coll_comm_t *comm, const struct coll_tensor *tensors, uint32_t nr,
		 uint32_t *posted);

/*
 * Take results. @ns: how long to wait for one if there is none; 0: not at all. Return: number of
 * results, or -errno; ETIMEDOUT only after a wait.
 */
int tensors_collect(coll_comm_t *comm, struct coll_tensor_result *to, uint32_t nr,
		    uint64_t ns);

/* Can tensors_post_collect() be called? */
bool tensors_can_post_collect(const coll_comm_t *comm);

/*
 * Post one tensor, and wait for a result. Return: as tensors_collect(); if nothing has been posted
 * (@posted), the error of the post.
 */
int tensors_post_collect(coll_comm_t *comm, const struct coll_tensor *tensor, uint32_t *posted,
			 struct coll_tensor_result *to, uint32_t nr);

/* Return: 0 or -errno. Only the setting of the node of rank 0 has an effect. */
int tensors_set_fusion(coll_comm_t *comm, uint64_t threshold, uint32_t most);

#endif
