// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The blocking way to run a command. */
#include <errno.h>
#include <sys/ioctl.h>

#include "base/relax.h"
#include "collective.h"
#include "comm/buffers.h"
#include "comm/comm.h"
#include "nonblocking/async.h"
#include "shm/shm_run.h"

static int ioctl_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return ioctl(comm->fd, COLL_IOC_SUBMIT, cmd) ? -errno : 0;
}

/*
 * Run the command as a nonblocking one. Meanwhile call the application's function now and then, or
 * move on commands that the kernel has not got.
 */
static int submit_and_look(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	uint64_t start = relax_now_ns(), ns = RELAX_FIRST_NS;
	coll_request_t *req;
	int done, ret = coll_isubmit(comm, cmd, &req);

	if (ret)
		return ret;
	if (!comm->idle)
		return coll_wait(req);
	while (ret = coll_wait_for(req, ns, &done), !done)
		ns = comm->idle(comm->idle_arg, relax_now_ns() - start);
	return ret;
}

/*
 * The kernel numbers collectives, and matches messages, as they come. So give it the commands that
 * wait in user space first. A message must not wait for a collective on the shortcut, which another
 * thread may have begun just now: another rank may wait for the message before it takes part.
 */
static void flush_before(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	if (coll_is_message(cmd->collective))
		async_flush_messages(comm);
	else
		async_flush(comm);
}

/* Are there commands that need this thread while it waits? */
static bool has_to_look(const coll_comm_t *comm)
{
	return !comm->settles && async_any_held_beside(comm);
}

/*
 * Has the command a deadline, and may it have to wait behind the queue? async_flush() knows no
 * deadlines.
 */
static bool waits_in_time(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	return cmd->timeout_ns && async_in_use(comm) && async_is_queued(comm);
}

/* There have been nonblocking commands. */
static int submit_behind(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	int ret;

	flush_before(comm, cmd);
	/* No room in the kernel: commands that end make room. */
	while ((ret = ioctl_submit(comm, cmd)) == -EAGAIN && async_has_inflight(comm)) {
		if (cmd->timeout_ns)
			return submit_and_look(comm, cmd);
		async_reap_one(comm);
	}
	return ret;
}

static int submit_to_kernel(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	if (comm->idle || has_to_look(comm) || waits_in_time(comm, cmd))
		return submit_and_look(comm, cmd);
	return async_in_use(comm) ? submit_behind(comm, cmd) : ioctl_submit(comm, cmd);
}

int coll_submit(coll_comm_t *comm, const struct coll_cmd *cmd)
{
	uint64_t timeout_ns, spent, as_of;
	struct coll_cmd copy;
	int ret;

	if (!comm || !cmd)
		return -EINVAL;
	timeout_ns = cmd->timeout_ns ? cmd->timeout_ns : comm->timeout_ns;
	if (timeout_ns != cmd->timeout_ns) {
		copy = *cmd;
		copy.timeout_ns = timeout_ns;
		cmd = &copy;
	}
	if (!comm->shm)
		return submit_to_kernel(comm, cmd);
	if (has_to_look(comm))
		return submit_and_look(comm, cmd);
	as_of = buffers_now(cmd);
	if (shm_submit(comm, cmd, &ret, &spent))
		return ret;
	copy = *cmd;
	if (spent)
		copy.timeout_ns = spent < timeout_ns ? timeout_ns - spent : 1;
	/* While it waited, another thread may have unregistered its buffers. */
	buffers_renew(comm, &copy, &as_of);
	ret = submit_to_kernel(comm, &copy);
	shm_given(comm);
	return ret;
}

int coll_allreduce(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
		   enum coll_dtype dtype, enum coll_op_code op)
{
	struct coll_cmd cmd;

	/* This call has no argument for the factor, and must not take 0 for it. */
	if (op == COLL_OP_PREMULSUM)
		return -EINVAL;
	coll_cmd_allreduce(comm, &cmd, send, recv, count, dtype, op);
	return coll_submit(comm, &cmd);
}

int coll_broadcast(coll_comm_t *comm, void *buf, uint64_t count,
		   enum coll_dtype dtype, uint32_t root)
{
	struct coll_cmd cmd;

	coll_cmd_broadcast(comm, &cmd, buf, count, dtype, root);
	return coll_submit(comm, &cmd);
}

int coll_barrier(coll_comm_t *comm)
{
	struct coll_cmd cmd;

	coll_cmd_barrier(comm, &cmd);
	return coll_submit(comm, &cmd);
}
