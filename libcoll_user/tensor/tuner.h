/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The search for the best fusion, driven by the posts of rank 0. */
#ifndef LIBCOLL_TENSOR_TUNER_H
#define LIBCOLL_TENSOR_TUNER_H

#include "tensors.h"

/**
 * tuner_new() - read the environment
 * @out: result; NULL: nothing is tuned: COLL_TENSOR_TUNE is not set, or this is not rank 0. Only
 *	the node of rank 0 decides what is fused.
 *
 * Return: 0; -EINVAL for a variable that is wrong; -ENOMEM; the error of the log's open().
 */
int tuner_new(const coll_comm_t *comm, struct tuner **out);

/* NULL is allowed. */
void tuner_free(struct tuner *t);

/* A tensor is about to be posted. Under the lock of @ts, which has a tuner. */
void tuner_see(coll_tensors_t *ts, const coll_tensor_t *tensor);

#endif
