/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Gives tables to the kernel, on all ranks. */
#ifndef LIBCOLL_SELECT_SET_H
#define LIBCOLL_SELECT_SET_H

#include "base/deadline.h"
#include "comm/comm.h"
#include "select_tables.h"

/** select_set_table() - on this rank: the rows of one collective; 0 or -errno */
int select_set_table(coll_comm_t *comm, uint32_t collective, const struct coll_select_row *rows,
		     uint32_t nr, uint32_t source);

/**
 * select_put_tables() - on this rank: all tables of @t
 * @before: the tables until now, perhaps in part; NULL: none
 *
 * Return: 0 or -errno: then those of some collectives have been set.
 */
int select_put_tables(coll_comm_t *comm, const struct select_tables *t,
		      const struct select_tables *before);

/** select_barrier() - a barrier that needs no table */
int select_barrier(coll_comm_t *comm, struct deadline deadline);

/** select_agree() - wait for all ranks; return the worst of their @ret on each of them */
int select_agree(coll_comm_t *comm, struct deadline deadline, int ret);

/** select_share_tables() - give the tables of rank 0 to all ranks, into @t, and set them */
int select_share_tables(coll_comm_t *comm, struct select_tables *t, struct deadline deadline);

#endif
