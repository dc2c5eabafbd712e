/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
#ifndef LIBCOLL_SPLIT_H
#define LIBCOLL_SPLIT_H

#include <coll/coll.h>

/**
 * split_reorder() - coll_comm_dup() with the nodes in another order
 * @place: number of each node of @comm in the new communicator: a permutation
 */
int split_reorder(coll_comm_t *comm, const uint32_t *place, coll_comm_t **newcomm);

/**
 * split_named() - coll_comm_dup(); the collectives of the new communicator have names
 * @status: an error of this rank, which ends the call on all ranks; else 0
 *
 * Errors, on all ranks: also EOPNOTSUPP, if the module of any rank has no names.
 */
int split_named(coll_comm_t *comm, int status, coll_comm_t **newcomm);

#endif
