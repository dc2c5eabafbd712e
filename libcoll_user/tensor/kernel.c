// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named tensors: the calls of the kernel. */
#include <errno.h>
#include <sys/ioctl.h>

#include "kernel.h"
#include "tensors.h"

int tensors_post(coll_comm_t *comm, const struct coll_tensor *tensors, uint32_t nr,
		 uint32_t *posted)
{
	struct coll_tensor_post p = {
		.tensors = (uintptr_t)tensors,
		.nr = nr,
		.size = sizeof(*tensors),
	};
	int ret = ioctl(comm->fd, COLL_IOC_TENSOR_POST, &p) ? -errno : 0;

	*posted = p.posted;
	return ret;
}

int tensors_collect(coll_comm_t *comm, struct coll_tensor_result *to, uint32_t nr,
		    uint64_t ns)
{
	struct coll_tensor_wait w = {
		.results = (uintptr_t)to,
		.nr = nr,
		.min = ns > 0,
		.timeout_ns = ns == TENSORS_FOREVER ? 0 : ns,
	};

	return ioctl(comm->fd, COLL_IOC_TENSOR_WAIT, &w) ? -errno : (int)w.got;
}

bool tensors_can_post_collect(const coll_comm_t *comm)
{
	return comm->version.features & COLL_FEAT_TENSOR_POST_WAIT;
}

int tensors_post_collect(coll_comm_t *comm, const struct coll_tensor *tensor, uint32_t *posted,
			 struct coll_tensor_result *to, uint32_t nr)
{
	struct coll_tensor_post p = {
		.tensors = (uintptr_t)tensor,
		.nr = 1,
		.size = sizeof(*tensor),
	};
	struct coll_tensor_wait w = {
		.results = (uintptr_t)to,
		.nr = nr,
		.min = 1,
		.post = (uintptr_t)&p,
		.post_size = sizeof(p),
	};
	int ret = ioctl(comm->fd, COLL_IOC_TENSOR_WAIT, &w) ? -errno : (int)w.got;

	*posted = p.posted;
	return ret;
}

int tensors_set_fusion(coll_comm_t *comm, uint64_t threshold, uint32_t most)
{
	struct coll_tensor_fuse f = { .threshold = threshold, .most = most };

	return ioctl(comm->fd, COLL_IOC_TENSOR_FUSE, &f) ? -errno : 0;
}
