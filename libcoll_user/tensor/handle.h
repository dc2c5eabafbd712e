/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The life of a named tensor. */
#ifndef LIBCOLL_TENSOR_HANDLE_H
#define LIBCOLL_TENSOR_HANDLE_H

#include "tensors.h"

/*
 * Make a tensor, and put it into the list of @ts. tensor_free() takes it out. For both: lock held,
 * or no other thread knows @ts. NULL: no memory.
 */
coll_tensor_t *tensor_alloc(coll_tensors_t *ts);

/*
 * Specs of a caller. An older program has shorter specs, so spec @k is not where an array of ours
 * would have it: use tensor_spec_at(). Check the sizes first. Return: 0; -EINVAL: a size is
 * invalid, or the sizes differ.
 */
int tensor_check_sizes(const struct coll_tensor_spec *specs, size_t n);
const struct coll_tensor_spec *tensor_spec_at(const struct coll_tensor_spec *specs, size_t k);

int tensor_new(coll_tensors_t *ts, const struct coll_tensor_spec *spec, coll_tensor_t **t);
void tensor_free(coll_tensor_t *t);

#endif
