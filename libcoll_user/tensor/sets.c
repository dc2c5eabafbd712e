// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Communicators for named tensors of some of the ranks. */
#include <errno.h>

#include "tensors.h"
#include "text.h"

int coll_tensors_split(coll_comm_t *comm, int32_t color, int32_t key, uint32_t flags,
		       coll_tensors_t **ts)
{
	coll_comm_t *part;
	int ret;

	if (!comm || !ts)
		return tensor_refused("", -EINVAL);
	*ts = NULL;
	ret = coll_comm_split(comm, color, key, &part);
	if (ret) {
		tensor_explain("no communicator for a part of the ranks: %s",
			       *coll_init_error() ? coll_init_error() : coll_strerror(ret));
		return ret;
	}
	if (!part)
		return 0;
	ret = coll_tensors_create(part, flags, ts);
	coll_finalize(part);
	return ret;
}

int coll_tensors_local(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts)
{
	return coll_tensors_split(comm, comm ? (int32_t)comm->node : 0, 0, flags, ts);
}

int coll_tensors_cross(coll_comm_t *comm, uint32_t flags, coll_tensors_t **ts)
{
	int32_t before = 0;
	uint32_t r;

	for (r = 0; comm && r < comm->rank; r++)
		before += comm->node_of[r] == comm->node;
	return coll_tensors_split(comm, before, 0, flags, ts);
}
