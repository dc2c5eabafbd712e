// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Commands of messages, and the ways to run them. */
#include <errno.h>
#include <string.h>

#include "base/u16.h"
#include "collective/ways.h"
#include "comm/buffers.h"
#include "comm/comm.h"
#include "optable.h"

static void init(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what,
		 uint64_t count, enum coll_dtype dtype)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = u16_of(what);
	cmd->dtype = u16_of(dtype);
	cmd->count = count;
	cmd->timeout_ns = comm ? comm->timeout_ns : 0;
}

static void sending(struct coll_cmd *cmd, const void *buf, uint32_t dest, uint32_t tag)
{
	cmd->send_addr = (uintptr_t)buf;
	cmd->root = dest;
	cmd->send_tag = tag;
}

static void receiving(struct coll_cmd *cmd, const void *buf, uint32_t source,
		      uint32_t tag, struct coll_message *got)
{
	cmd->recv_addr = (uintptr_t)buf;
	cmd->source = source;
	cmd->recv_tag = tag;
	cmd->message_addr = (uintptr_t)got;
}

void coll_cmd_send(coll_comm_t *comm, struct coll_cmd *cmd, const void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t dest, uint32_t tag)
{
	init(comm, cmd, COLL_SEND, count, dtype);
	sending(cmd, buf, dest, tag);
	buffers_apply(comm, cmd);
}

void coll_cmd_recv(coll_comm_t *comm, struct coll_cmd *cmd, void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t source, uint32_t tag,
		   struct coll_message *got)
{
	init(comm, cmd, COLL_RECV, count, dtype);
	receiving(cmd, buf, source, tag, got);
	buffers_apply(comm, cmd);
}

void coll_cmd_sendrecv(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
		       uint64_t send_count, enum coll_dtype send_dtype, uint32_t dest,
		       uint32_t send_tag, void *recv, uint64_t recv_count,
		       enum coll_dtype recv_dtype, uint32_t source, uint32_t recv_tag,
		       struct coll_message *got)
{
	init(comm, cmd, COLL_SENDRECV, send_count, send_dtype);
	sending(cmd, send, dest, send_tag);
	receiving(cmd, recv, source, recv_tag, got);
	cmd->recv_count = recv_count;
	cmd->recv_dtype = (uint32_t)recv_dtype;
	buffers_apply(comm, cmd);
}

void coll_cmd_sendrecv_replace(coll_comm_t *comm, struct coll_cmd *cmd, void *buf,
			       uint64_t count, enum coll_dtype dtype, uint32_t dest,
			       uint32_t send_tag, uint32_t source, uint32_t recv_tag,
			       struct coll_message *got)
{
	init(comm, cmd, COLL_SENDRECV, count, dtype);
	sending(cmd, NULL, dest, send_tag);
	receiving(cmd, buf, source, recv_tag, got);
	cmd->recv_count = count;
	cmd->flags = COLL_CMD_INPLACE;
	buffers_apply(comm, cmd);
}

uint64_t coll_message_count(const struct coll_message *got, enum coll_dtype dtype)
{
	size_t elem = coll_dtype_bytes(dtype);

	return elem && !(got->bytes % elem) ? got->bytes / elem : UINT64_MAX;
}

void coll_cmd_mrecv(coll_comm_t *comm, struct coll_cmd *cmd, void *buf, uint64_t count,
		    enum coll_dtype dtype, uint64_t id, struct coll_message *got)
{
	init(comm, cmd, COLL_MRECV, count, dtype);
	receiving(cmd, buf, 0, 0, got);
	cmd->matched = id;
	buffers_apply(comm, cmd);
}

static int probe(coll_comm_t *comm, enum coll_collective what, uint32_t source, uint32_t tag,
		 uint32_t flags, struct coll_message *got)
{
	struct coll_cmd cmd;

	if (!comm)
		return -EINVAL;
	if (!(comm->version.features & COLL_FEAT_PROBE))
		return -EOPNOTSUPP;
	init(comm, &cmd, what, 0, COLL_DTYPE_NONE);
	receiving(&cmd, NULL, source, tag, got);
	cmd.flags = flags;
	return coll_submit(comm, &cmd);
}

static int probe_now(coll_comm_t *comm, enum coll_collective what, uint32_t source,
		     uint32_t tag, int *found, struct coll_message *got)
{
	int ret = found ? probe(comm, what, source, tag, COLL_CMD_NOWAIT, got) : -EINVAL;

	if (found)
		*found = !ret;
	return ret == -ENOMSG ? 0 : ret;
}

int coll_probe(coll_comm_t *comm, uint32_t source, uint32_t tag, struct coll_message *got)
{
	return probe(comm, COLL_PROBE, source, tag, 0, got);
}

int coll_iprobe(coll_comm_t *comm, uint32_t source, uint32_t tag, int *found,
		struct coll_message *got)
{
	return probe_now(comm, COLL_PROBE, source, tag, found, got);
}

int coll_mprobe(coll_comm_t *comm, uint32_t source, uint32_t tag, struct coll_message *got)
{
	return probe(comm, COLL_MPROBE, source, tag, 0, got);
}

int coll_improbe(coll_comm_t *comm, uint32_t source, uint32_t tag, int *found,
		 struct coll_message *got)
{
	return probe_now(comm, COLL_MPROBE, source, tag, found, got);
}

#define ALL_WAYS(name, params, args)						\
WAYS(name, params, args)							\
										\
void coll_prep_##name(struct io_uring_sqe *sqe, coll_comm_t *comm,		\
		      struct coll_cmd *cmd, UNPACK params)			\
{										\
	coll_cmd_##name(comm, cmd, UNPACK args);				\
	coll_prep_cmd(sqe, comm, cmd);						\
}

ALL_WAYS(send, (const void *buf, uint64_t count, enum coll_dtype dtype, uint32_t dest,
		uint32_t tag), (buf, count, dtype, dest, tag))
ALL_WAYS(recv, (void *buf, uint64_t count, enum coll_dtype dtype, uint32_t source,
		uint32_t tag, struct coll_message *got),
	 (buf, count, dtype, source, tag, got))
ALL_WAYS(mrecv, (void *buf, uint64_t count, enum coll_dtype dtype, uint64_t id,
		 struct coll_message *got), (buf, count, dtype, id, got))
ALL_WAYS(sendrecv, (const void *send, uint64_t send_count, enum coll_dtype send_dtype,
		    uint32_t dest, uint32_t send_tag, void *recv, uint64_t recv_count,
		    enum coll_dtype recv_dtype, uint32_t source, uint32_t recv_tag,
		    struct coll_message *got),
	 (send, send_count, send_dtype, dest, send_tag, recv, recv_count, recv_dtype,
	  source, recv_tag, got))
ALL_WAYS(sendrecv_replace, (void *buf, uint64_t count, enum coll_dtype dtype,
			    uint32_t dest, uint32_t send_tag, uint32_t source,
			    uint32_t recv_tag, struct coll_message *got),
	 (buf, count, dtype, dest, send_tag, source, recv_tag, got))
