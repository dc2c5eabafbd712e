/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Digests of names of tensors. */
#ifndef COLL_USER_TENSOR_NAME_H
#define COLL_USER_TENSOR_NAME_H

#include <stdint.h>

/* Add a name, of which the first COLL_TENSOR_NAME_MAX bytes count. Return: the new digest. */
uint64_t tensor_digest_name(uint64_t digest, const char *name);

#endif /* COLL_USER_TENSOR_NAME_H */
