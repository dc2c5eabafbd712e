// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* SQEs for the application's own ring. */
#include <string.h>

#include <liburing.h>

#include "comm/comm.h"

void coll_prep_cmd(struct io_uring_sqe *sqe, coll_comm_t *comm, const struct coll_cmd *cmd)
{
	struct coll_sqe arg = {
		.arg = (uint64_t)(uintptr_t)cmd,
		.len = sizeof(*cmd),
	};
	__u64 user_data = sqe->user_data;

	/* SQEs of both sizes have these 64 bytes. The command takes the last 16 of them. */
	memset(sqe, 0, 64);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = comm->fd;
	sqe->cmd_op = COLL_URING_SUBMIT;
	sqe->user_data = user_data;
	memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), &arg, sizeof(arg));
}

void coll_prep_fixed(struct io_uring_sqe *sqe, unsigned int buf_index)
{
	/* uring_cmd_flags, by the name that older headers have for that place */
	sqe->rw_flags = IORING_URING_CMD_FIXED;
	sqe->buf_index = (__u16)buf_index;
}

void coll_prep_allreduce(struct io_uring_sqe *sqe, coll_comm_t *comm, struct coll_cmd *cmd,
			 const void *send, void *recv, uint64_t count,
			 enum coll_dtype dtype, enum coll_op_code op)
{
	coll_cmd_allreduce(comm, cmd, send, recv, count, dtype, op);
	coll_prep_cmd(sqe, comm, cmd);
}

void coll_prep_broadcast(struct io_uring_sqe *sqe, coll_comm_t *comm, struct coll_cmd *cmd,
			 void *buf, uint64_t count, enum coll_dtype dtype, uint32_t root)
{
	coll_cmd_broadcast(comm, cmd, buf, count, dtype, root);
	coll_prep_cmd(sqe, comm, cmd);
}

void coll_prep_barrier(struct io_uring_sqe *sqe, coll_comm_t *comm, struct coll_cmd *cmd)
{
	coll_cmd_barrier(comm, cmd);
	coll_prep_cmd(sqe, comm, cmd);
}
