/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocking collectives with several nodes: the ranks of a node write their inputs to their slots,
 * and the first of them posts the op to the kernel for all. The kernel writes the results to the
 * slots. So a node needs one system call for an op, if no rank has to sleep. See "Several nodes" in
 * <linux/coll.h>.
 */
#ifndef LIBCOLL_SHM_NODE_H
#define LIBCOLL_SHM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

struct shm_move;
struct shm_op;

/**
 * shm_node_run() - do an op
 * @comm: communicator; it is the caller's turn
 * @m: what to move; its command
 * @o: begun
 * @res: result: 0 or -errno
 * @spent: nanoseconds of the command's time that have passed, if it is for the kernel
 *
 * Return: false: this rank has to post the op by itself. So do the others.
 */
bool shm_node_run(coll_comm_t *comm, const struct shm_move *m, struct shm_op *o, int *res,
		  uint64_t *spent);

#endif
