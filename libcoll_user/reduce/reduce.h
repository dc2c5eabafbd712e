/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Reduction of vectors on this host. */
#ifndef LIBCOLL_REDUCE_H
#define LIBCOLL_REDUCE_H

#include "simd/simd.h"

/**
 * coll_simd_usable() - the instruction sets that this CPU has, the best first
 * @nth: from 0
 *
 * Return: NULL behind the last one, which is the scalar reference.
 */
const struct coll_simd *coll_simd_usable(size_t nth);

/* The one that this process reduces with: the best one, or that of COLL_SIMD. */
const struct coll_simd *coll_simd_chosen(void);

#endif
