// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Commands, and the blocking way to run them. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "async.h"
#include "comm.h"

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void cmd_init(coll_comm_t *comm, struct coll_cmd *cmd, enum coll_collective what)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->collective = (uint16_t)what;
	cmd->timeout_ns = comm->timeout_ns;
}

void cmd_allreduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send, void *recv,
		   uint64_t count, enum coll_dtype dtype, enum coll_op_code op)
{
	cmd_init(comm, cmd, COLL_ALLREDUCE);
	cmd->op = (uint16_t)op;
	cmd->dtype = (uint16_t)dtype;
	cmd->count = count;
	cmd->recv_addr = address(recv);
	if (send == COLL_IN_PLACE || (send && send == recv))
		cmd->flags |= COLL_CMD_INPLACE;
	else
		cmd->send_addr = address(send);
	cmd_narrow(comm, cmd);
	buffers_apply(comm, cmd);
}

void cmd_broadcast(coll_comm_t *comm, struct coll_cmd *cmd, void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t root)
{
	cmd_init(comm, cmd, COLL_BROADCAST);
	cmd->dtype = (uint16_t)dtype;
	cmd->count = count;
	cmd->root = root;
	cmd->recv_addr = address(buf);
	buffers_apply(comm, cmd);
}

void cmd_barrier(coll_comm_t *comm, struct coll_cmd *cmd)
{
	cmd_init(comm, cmd, COLL_BARRIER);
}

int ioctl_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return ioctl(comm->fd, COLL_IOC_SUBMIT, cmd) ? -errno : 0;
}

int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	struct coll_cmd copy;
	int ret;

	if (!cmd->timeout_ns && comm->timeout_ns) {
		copy = *cmd;
		copy.timeout_ns = comm->timeout_ns;
		cmd = &copy;
	}
	/* The kernel numbers commands as they come. Those that wait in user space come first. */
	if (async_in_use(comm)) {
		async_flush(comm);
		/* No room in the kernel: what is under way will make some. */
		while ((ret = ioctl_submit(comm, cmd)) == -EAGAIN && async_reap_one(comm))
			;
		return ret;
	}
	return ioctl_submit(comm, cmd);
}

int coll_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   enum coll_dtype dtype, enum coll_op_code op)
{
	struct coll_cmd cmd;

	/* There is no room for its factor here, and 0 would be a silent one. */
	if (op == COLL_OP_PREMULSUM)
		return -EINVAL;
	cmd_allreduce(comm, &cmd, send, recv, count, dtype, op);
	return coll_submit(comm, &cmd);
}

int coll_broadcast(coll_comm_t *comm, void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t root)
{
	struct coll_cmd cmd;

	cmd_broadcast(comm, &cmd, buf, count, dtype, root);
	return coll_submit(comm, &cmd);
}

int coll_barrier(coll_comm_t *comm)
{
	struct coll_cmd cmd;

	cmd_barrier(comm, &cmd);
	return coll_submit(comm, &cmd);
}

int coll_comm_set_timeout(coll_comm_t *comm, uint64_t ns)
{
	comm->timeout_ns = ns;
	return 0;
}

int coll_comm_set_narrow(coll_comm_t *comm, bool narrow)
{
	if (!(comm->version.features & COLL_FEAT_NARROW))
		return -EOPNOTSUPP;
	comm->narrow = narrow;
	return 0;
}

int coll_abort(coll_comm_t *comm, uint32_t code)
{
	struct coll_abort a = { .code = code };

	return ioctl(comm->fd, COLL_IOC_ABORT, &a) ? -errno : 0;
}
