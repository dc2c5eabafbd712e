/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The part of coll_init() that chooses algorithms and the order of the nodes. */
#ifndef LIBCOLL_INIT_SELECT_H
#define LIBCOLL_INIT_SELECT_H

#include "select/select.h"

/* Offset in the blob of SHM_BLOB bytes that the caller fills in. */
#define SELECT_BLOB_SHM	3

/**
 * select_offer() - before the last round of coll_init()
 * @node: COLL_NODE
 * @plan: filled in from the environment on rank 0, which decides for all
 * @blob: result: bytes for the other ranks; has room for RDV_BLOB bytes
 *
 * Return: 0; -EINVAL for an unknown name, a missing file, or a line of a file that cannot
 * be understood; -ENOMEM; other errors of open().
 */
int select_offer(coll_comm_t *comm, const char *node, struct select_plan *plan, uint8_t *blob);

/**
 * select_accept() - after that round: order the nodes; measure or read tables, and set them
 * @comm: may be replaced, see order_accept()
 * @blobs: of all ranks, @stride bytes each
 * @deadline: of every command
 */
int select_accept(coll_comm_t **comm, const struct select_plan *plan, const uint8_t *blobs,
		  size_t stride, struct deadline deadline);

#endif
