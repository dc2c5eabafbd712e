/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#ifndef LIBCOLL_SPLIT_H
#define LIBCOLL_SPLIT_H

#include <coll/coll.h>

/**
 * split_reorder() - coll_comm_dup() with the nodes in another order
 * @place: of each node of @comm its number in the new one: a permutation
 */
int split_reorder(coll_comm_t *comm, const uint32_t *place, coll_comm_t **newcomm);

#endif
