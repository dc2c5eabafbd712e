/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Makes a communicator for named tensors. */
#ifndef LIBCOLL_TENSOR_CREATE_H
#define LIBCOLL_TENSOR_CREATE_H

#include "tensors.h"

/* Return: 0: @ts owns @comm; -errno: the caller still owns @comm. */
int tensors_new(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts);

#endif
