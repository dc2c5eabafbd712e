/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The communicator object, and who owns what in it. */
#ifndef LIBCOLL_COMM_H
#define LIBCOLL_COMM_H

#include <pthread.h>
#include <stdatomic.h>

#include <coll/coll.h>

struct async;
struct buffer;

/**
 * struct coll_comm - one rank
 * @fd: /dev/coll, joined
 * @node_of: node of each rank
 * @timeout_ns: deadline of commands that bring none
 * @version: what the module said
 * @flags: COLL_CONFIG_*
 * @buffers_lock: protects @buffers
 * @buffers: registered memory, see buffers.c
 * @async: nonblocking calls, see async.c; made by the first of them, under
 *	@async_once_lock
 */
struct coll_comm {
	int fd;
	uint32_t rank, size, node, nr_nodes;
	uint32_t *node_of;
	_Atomic uint64_t timeout_ns;
	struct coll_version version;
	uint32_t flags;
	pthread_mutex_t buffers_lock;
	struct buffer *buffers;
	pthread_mutex_t async_once_lock;
	_Atomic(struct async *) async;
};

/* submit.c: fill in commands; what the caller passed is checked by the kernel. */
void cmd_allreduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send, void *recv,
		   uint64_t count, enum coll_dtype dtype, enum coll_op_code op);
void cmd_broadcast(coll_comm_t *comm, struct coll_cmd *cmd, void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t root);
void cmd_barrier(coll_comm_t *comm, struct coll_cmd *cmd);

/* submit.c: the ioctl itself; 0 or -errno */
int ioctl_submit(coll_comm_t *comm, const struct coll_cmd *cmd);

/* buffers.c: use registered buffers where the command's memory lies in one */
void buffers_apply(coll_comm_t *comm, struct coll_cmd *cmd);
void buffers_free(coll_comm_t *comm);

#endif
