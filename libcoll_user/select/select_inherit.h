/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tables for a part of a communicator. */
#ifndef LIBCOLL_SELECT_INHERIT_H
#define LIBCOLL_SELECT_INHERIT_H

#include "base/deadline.h"
#include "comm/comm.h"

/**
 * select_inherit() - tables for a part of a communicator
 * @child: all of its ranks call this, before anybody uses it
 * @members: by rank of @child, the rank in @parent
 *
 * If @child has the same nodes in the same order, it gets the tables of @parent. Else they are made
 * by the model, with the costs that were measured for @parent.
 */
int select_inherit(coll_comm_t *child, const coll_comm_t *parent, const uint32_t *members,
		   struct deadline deadline);

/*
 * Copy the tables of @parent to a @child with the same ranks on the same nodes. Needs no collective
 * of @child. The caller makes sure that no rank uses @child before all have the tables.
 */
int select_copy(coll_comm_t *child, const coll_comm_t *parent);

#endif
