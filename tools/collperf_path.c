// SPDX-License-Identifier: GPL-2.0
/*
 * The way that ops really take. No function of the library tells it: this file reads the memory of
 * the library, which costs no system call between two ops.
 */
#include "collperf_show.h"
#include "comm/comm.h"
#include "comm/shm.h"
#include "nonblocking/async.h"
#include "shm/shm_move.h"

const char *path_name(enum perf_path path)
{
	static const char *const names[] = {
		[PATH_NONE]	= "none",
		[PATH_SHM]	= "shared memory",
		[PATH_IOCTL]	= "ioctl",
		[PATH_URING]	= "io_uring",
		[PATH_POST]	= "post by ioctl",
		[PATH_MIXED]	= "mixed",
	};

	return names[path];
}

uint64_t path_shm_ops(const coll_comm_t *comm)
{
	return comm->shm ? comm->shm->ops + comm->shm->node_ops : 0;
}

uint64_t path_shm_limit(const coll_comm_t *comm, enum coll_collective what)
{
	return comm->shm ? shm_move_limit(comm->shm, what) : 0;
}

enum perf_path path_kernel(const coll_comm_t *comm, bool blocking)
{
	const struct async *a = comm->async;

	if (blocking)
		return PATH_IOCTL;
	return !a ? PATH_NONE : a->backend == &async_ring ? PATH_URING : PATH_POST;
}

enum perf_path path_of(const coll_comm_t *comm, bool blocking, uint64_t ops, uint64_t shm)
{
	if (!shm)
		return path_kernel(comm, blocking);
	return shm == ops ? PATH_SHM : PATH_MIXED;
}
