/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The order of nodes in schedules: nodes that are near each other are neighbours. */
#ifndef LIBCOLL_ORDER_H
#define LIBCOLL_ORDER_H

#include <coll/coll.h>

#include "base/deadline.h"

/* The order that the user asks for, in rank 0's blob of the last round of coll_init(). */
enum order_mode { ORDER_NONE, ORDER_LIST, ORDER_MEASURE, ORDER_MODES };

/**
 * order_offer() - the order that rank 0's environment asks for
 *
 * Return: enum order_mode; -EINVAL, or an error of open().
 */
int order_offer(void);

/**
 * order_accept() - put the nodes in order
 * @comm: with @hosts filled in. All ranks call this before any other use of the communicator. If
 *	the order changes, another communicator of the same ranks replaces it.
 * @mode: the mode of rank 0
 * @deadline: of the whole call
 *
 * Return: 0; -EINVAL, on all ranks, for a list that does not name each node once; -EOPNOTSUPP if
 * there are too many nodes to measure; errors of collectives and of coll_comm_dup().
 */
int order_accept(coll_comm_t **comm, enum order_mode mode, struct deadline deadline);

#endif
