// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The ways to run the commands of all collectives. */
#include "ways.h"

INIT(allreduce, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
		 enum coll_op_code op), (send, recv, count, dtype, op))
INIT(broadcast, (void *buf, uint64_t count, enum coll_dtype dtype, uint32_t root),
     (buf, count, dtype, root))

int coll_barrier_init(coll_comm_t *comm, coll_request_t **req)
{
	struct coll_cmd cmd;

	coll_cmd_barrier(comm, &cmd);
	return coll_persist(comm, &cmd, req);
}

WAYS(reduce, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
	      enum coll_op_code op, uint32_t root), (send, recv, count, dtype, op, root))
WAYS(scan, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
	    enum coll_op_code op), (send, recv, count, dtype, op))
WAYS(exscan, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
	      enum coll_op_code op), (send, recv, count, dtype, op))
WAYS(reduce_scatter, (const void *send, void *recv, const uint64_t *counts,
		      enum coll_dtype dtype, enum coll_op_code op),
     (send, recv, counts, dtype, op))
WAYS(reduce_scatter_block, (const void *send, void *recv, uint64_t count,
			    enum coll_dtype dtype, enum coll_op_code op),
     (send, recv, count, dtype, op))
WAYS(allgather, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype),
     (send, recv, count, dtype))
WAYS(allgatherv, (const void *send, void *recv, const uint64_t *counts,
		  const uint64_t *displs, enum coll_dtype dtype),
     (send, recv, counts, displs, dtype))
WAYS(gather, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
	      uint32_t root), (send, recv, count, dtype, root))
WAYS(gatherv, (const void *send, uint64_t count, void *recv, const uint64_t *counts,
	       const uint64_t *displs, enum coll_dtype dtype, uint32_t root),
     (send, count, recv, counts, displs, dtype, root))
WAYS(scatter, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype,
	       uint32_t root), (send, recv, count, dtype, root))
WAYS(scatterv, (const void *send, const uint64_t *counts, const uint64_t *displs,
		void *recv, uint64_t count, enum coll_dtype dtype, uint32_t root),
     (send, counts, displs, recv, count, dtype, root))
WAYS(alltoall, (const void *send, void *recv, uint64_t count, enum coll_dtype dtype),
     (send, recv, count, dtype))
WAYS(alltoallv, (const void *send, void *recv, const uint64_t *counts,
		 const uint64_t *displs, enum coll_dtype dtype),
     (send, recv, counts, displs, dtype))
