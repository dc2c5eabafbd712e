/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The parameters of a tensor. */
#ifndef COLL_PURE_COORD_PARAMS_H
#define COLL_PURE_COORD_PARAMS_H

#include "coord_types.h"

/**
 * coll_coord_check() - may a rank ask for this?
 * @p: parameters, from a user or a peer
 *
 * Return: 0; -EINVAL; -EOVERFLOW if the bytes of the shape are more than S64_MAX.
 */
int coll_coord_check(const struct coll_coord_params *p);

/* Bytes of a tensor that coll_coord_check() has passed. */
u64 coll_coord_bytes(const struct coll_coord_params *p);

/* May these two be in one fusion? */
bool coll_coord_fuse(const struct coll_coord_params *a, const struct coll_coord_params *b);

/* The first field in which two differ; COLL_NR_FIELDS: in none. */
u32 coll_coord_differ(const struct coll_coord_params *a, const struct coll_coord_params *b);

#endif /* COLL_PURE_COORD_PARAMS_H */
