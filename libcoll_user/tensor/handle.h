/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The life of a named tensor. */
#ifndef LIBCOLL_TENSOR_HANDLE_H
#define LIBCOLL_TENSOR_HANDLE_H

#include "tensors.h"

/* In and out of the list. Lock held, or nobody else knows @ts. NULL: no memory. */
coll_tensor_t *tensor_alloc(coll_tensors_t *ts);
int tensor_new(coll_tensors_t *ts, const struct coll_tensor_spec *spec, coll_tensor_t **t);
void tensor_free(coll_tensor_t *t);

#endif
