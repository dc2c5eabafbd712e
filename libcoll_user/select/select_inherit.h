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
 * The same nodes in the same order: @parent's tables. Else by the model, with the
 * numbers that were measured there.
 */
int select_inherit(coll_comm_t *child, const coll_comm_t *parent, const uint32_t *members,
		   struct deadline deadline);

/*
 * The tables of @parent for a @child of the same ranks on the same nodes, without a collective
 * of @child's; the caller lets nobody use it before all have them.
 */
int select_copy(coll_comm_t *child, const coll_comm_t *parent);

#endif
