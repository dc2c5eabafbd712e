/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Makes a communicator for named tensors. */
#ifndef LIBCOLL_TENSOR_CREATE_H
#define LIBCOLL_TENSOR_CREATE_H

#include "tensors.h"

/* @comm goes with it. Return: 0 or -errno, and @comm is the caller's. */
int tensors_new(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts);

#endif
