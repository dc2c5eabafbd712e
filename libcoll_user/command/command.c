// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Builds the commands of all collectives. */
#include <string.h>

#include "base/u16.h"
#include "comm/buffers.h"
#include "comm/comm.h"
#include "reduction/wide.h"
#include "wire_type.h"

/* Reduce in the narrow type if the application wants that and it makes a difference. */
static void set_narrow(coll_comm_t *comm, struct coll_cmd *cmd)
{
	if (comm && comm->narrow && coll_wide_size(cmd->op, cmd->dtype))
		cmd->flags |= COLL_CMD_NARROW;
}

/* Use a smaller type between nodes if the application wants that and the command allows it. */
static void set_wire(coll_comm_t *comm, struct coll_cmd *cmd)
{
	if (comm && comm->wire && !wire_type_refusal(cmd))
		cmd->flags |= wire_type_flag(comm->wire);
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* @comm may be NULL: coll_submit() and the like refuse it later. */
static void init(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
		 enum coll_dtype dtype, uint64_t count, uint32_t root)
{
	*cmd = (struct coll_cmd){
		.collective = u16_of(what),
		.dtype = u16_of(dtype),
		.count = count,
		.root = root,
		.timeout_ns = comm ? comm->timeout_ns : 0,
	};
}

/* Set the buffers. Either may be COLL_IN_PLACE. A rank without that buffer may pass any pointer. */
static void set_buffers(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			const void *recv)
{
	if (send == COLL_IN_PLACE || recv == COLL_IN_PLACE)
		cmd->flags |= COLL_CMD_INPLACE;
	if (send != COLL_IN_PLACE)
		cmd->send_addr = address(send);
	if (recv != COLL_IN_PLACE)
		cmd->recv_addr = address(recv);
	buffers_apply(comm, cmd);
}

static bool is_root(const coll_comm_t *comm, uint32_t root)
{
	return coll_comm_rank(comm) == root;
}

static void reducing(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
		     const void *send, void *recv, uint64_t count,
		     enum coll_dtype dtype, enum coll_op_code op, uint32_t root)
{
	init(comm, cmd, what, dtype, count, root);
	cmd->op = u16_of(op);
	set_narrow(comm, cmd);
	set_wire(comm, cmd);
	set_buffers(comm, cmd, send, recv);
}

void coll_cmd_allreduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			void *recv, uint64_t count, enum coll_dtype dtype,
			enum coll_op_code op)
{
	bool in_place = send && send == recv;

	reducing(comm, cmd, COLL_ALLREDUCE, in_place ? COLL_IN_PLACE : send, recv, count, dtype,
		 op, 0);
}

void coll_cmd_broadcast(coll_comm_t *comm, struct coll_cmd *cmd, void *buf,
			uint64_t count, enum coll_dtype dtype, uint32_t root)
{
	init(comm, cmd, COLL_BROADCAST, dtype, count, root);
	set_buffers(comm, cmd, NULL, buf);
}

void coll_cmd_barrier(coll_comm_t *comm, struct coll_cmd *cmd)
{
	init(comm, cmd, COLL_BARRIER, COLL_DTYPE_NONE, 0, 0);
}

void coll_cmd_reduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		     void *recv, uint64_t count, enum coll_dtype dtype,
		     enum coll_op_code op, uint32_t root)
{
	reducing(comm, cmd, COLL_REDUCE, send, is_root(comm, root) ? recv : NULL, count,
		 dtype, op, root);
}

void coll_cmd_scan(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		   void *recv, uint64_t count, enum coll_dtype dtype,
		   enum coll_op_code op)
{
	reducing(comm, cmd, COLL_SCAN, send, recv, count, dtype, op, 0);
}

void coll_cmd_exscan(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		     void *recv, uint64_t count, enum coll_dtype dtype,
		     enum coll_op_code op)
{
	reducing(comm, cmd, COLL_EXSCAN, send, recv, count, dtype, op, 0);
}

void coll_cmd_reduce_scatter(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			     void *recv, const uint64_t *counts,
			     enum coll_dtype dtype, enum coll_op_code op)
{
	reducing(comm, cmd, COLL_REDUCE_SCATTER, send, recv, 0, dtype, op, 0);
	cmd->counts_addr = address(counts);
}

void coll_cmd_reduce_scatter_block(coll_comm_t *comm, struct coll_cmd *cmd,
				   const void *send, void *recv, uint64_t count,
				   enum coll_dtype dtype, enum coll_op_code op)
{
	reducing(comm, cmd, COLL_REDUCE_SCATTER_BLOCK, send, recv, count, dtype, op, 0);
}

/* Collectives that move data without reducing it. */
static void moving(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
		   const void *send, const void *recv, uint64_t count,
		   const uint64_t *counts, const uint64_t *displs,
		   enum coll_dtype dtype, uint32_t root)
{
	init(comm, cmd, what, dtype, count, root);
	cmd->counts_addr = address(counts);
	cmd->displs_addr = address(displs);
	set_buffers(comm, cmd, send, recv);
}

void coll_cmd_allgather(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			void *recv, uint64_t count, enum coll_dtype dtype)
{
	moving(comm, cmd, COLL_ALLGATHER, send, recv, count, NULL, NULL, dtype, 0);
}

void coll_cmd_allgatherv(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			 void *recv, const uint64_t *counts, const uint64_t *displs,
			 enum coll_dtype dtype)
{
	moving(comm, cmd, COLL_ALLGATHERV, send, recv, 0, counts, displs, dtype, 0);
}

void coll_cmd_gather(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		     void *recv, uint64_t count, enum coll_dtype dtype, uint32_t root)
{
	moving(comm, cmd, COLL_GATHER, send, is_root(comm, root) ? recv : NULL, count,
	       NULL, NULL, dtype, root);
}

void coll_cmd_gatherv(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		      uint64_t count, void *recv, const uint64_t *counts,
		      const uint64_t *displs, enum coll_dtype dtype, uint32_t root)
{
	if (is_root(comm, root))
		moving(comm, cmd, COLL_GATHERV, send, recv, 0, counts, displs, dtype, root);
	else
		moving(comm, cmd, COLL_GATHERV, send, NULL, count, NULL, NULL, dtype, root);
}

void coll_cmd_scatter(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		      void *recv, uint64_t count, enum coll_dtype dtype, uint32_t root)
{
	moving(comm, cmd, COLL_SCATTER, is_root(comm, root) ? send : NULL, recv, count,
	       NULL, NULL, dtype, root);
}

void coll_cmd_scatterv(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		       const uint64_t *counts, const uint64_t *displs, void *recv,
		       uint64_t count, enum coll_dtype dtype, uint32_t root)
{
	if (is_root(comm, root))
		moving(comm, cmd, COLL_SCATTERV, send, recv, 0, counts, displs, dtype, root);
	else
		moving(comm, cmd, COLL_SCATTERV, NULL, recv, count, NULL, NULL, dtype, root);
}

void coll_cmd_alltoall(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		       void *recv, uint64_t count, enum coll_dtype dtype)
{
	moving(comm, cmd, COLL_ALLTOALL, send, recv, count, NULL, NULL, dtype, 0);
}

void coll_cmd_alltoallv(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			void *recv, const uint64_t *counts, const uint64_t *displs,
			enum coll_dtype dtype)
{
	moving(comm, cmd, COLL_ALLTOALLV, send, recv, 0, counts, displs, dtype, 0);
}
