/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Every collective, in four ways:
 *
 *	coll_X(comm, ...)		wait for it
 *	coll_iX(comm, ..., &req)	start it; coll_wait() or coll_test()
 *	coll_X_init(comm, ..., &req)	prepare it; coll_start(), coll_wait(), as often
 *					as you like; then coll_request_free()
 *	coll_cmd_X(comm, &cmd, ...)	fill in a command, for coll_submit(),
 *					coll_isubmit(), coll_prep_cmd() or
 *					coll_persist(); to choose an algorithm or
 *					a segment size for this call, set them there
 *
 * Counts are in elements. For a collective in place, give COLL_IN_PLACE instead of the input;
 * the root of a scatter gives it instead of the output. Results are 0 or a negative errno, as
 * coll.h says.
 *
 * Arrays of counts and displacements (in elements; NULL: one block behind the other)
 * have one entry per rank, and are read when the command is submitted: they may change
 * when that call has returned. Memory between
 * blocks is not touched, and need not be mapped: send blocks may lie between receive
 * blocks. Receive blocks that overlap are EINVAL.
 */
#ifndef COLL_COLLECTIVES_H
#define COLL_COLLECTIVES_H

#ifndef COLL_COLL_H
#error "include <coll/coll.h>"
#endif

/* Every declaration below stands for four functions, see the top of this file. */
#define COLL_FUNCTIONS(name, ...)						\
	int coll_##name(coll_comm_t *comm, __VA_ARGS__);			\
	int coll_i##name(coll_comm_t *comm, __VA_ARGS__, coll_request_t **req);	\
	int coll_##name##_init(coll_comm_t *comm, __VA_ARGS__, coll_request_t **req); \
	void coll_cmd_##name(coll_comm_t *comm, struct coll_cmd *cmd, __VA_ARGS__)

/** reduce: @recv at @root = the fold of all @send; COLL_IN_PLACE at the root only */
COLL_FUNCTIONS(reduce, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype, enum coll_op_code op, uint32_t root);

/** scan: @recv of rank r = the fold of @send of ranks 0 .. r */
COLL_FUNCTIONS(scan, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype, enum coll_op_code op);

/** exscan: the same of ranks 0 .. r - 1; @recv of rank 0 is not touched */
COLL_FUNCTIONS(exscan, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype, enum coll_op_code op);

/**
 * reduce_scatter: @recv of rank r = block r of the fold of all @send
 *
 * Block r has @counts[r] elements; the same array on all ranks. In place: the input is
 * in @recv, and the result at its beginning.
 */
COLL_FUNCTIONS(reduce_scatter, const void *send, void *recv, const uint64_t *counts,
	       enum coll_dtype dtype, enum coll_op_code op);

/** reduce_scatter_block: the same, each block of @count elements */
COLL_FUNCTIONS(reduce_scatter_block, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype, enum coll_op_code op);

/** allgather: block r of @recv = @send of rank r, @count elements each */
COLL_FUNCTIONS(allgather, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype);

/** allgatherv: the same; rank r gives @counts[r], which all ranks must know */
COLL_FUNCTIONS(allgatherv, const void *send, void *recv, const uint64_t *counts,
	       const uint64_t *displs, enum coll_dtype dtype);

/** gather: block r of @root's @recv = @send of rank r, @count elements each */
COLL_FUNCTIONS(gather, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype, uint32_t root);

/** gatherv: rank r gives @count elements, and @counts[r] of the root must be equal to that */
COLL_FUNCTIONS(gatherv, const void *send, uint64_t count, void *recv,
	       const uint64_t *counts, const uint64_t *displs, enum coll_dtype dtype,
	       uint32_t root);

/** scatter: @recv of rank r = block r of @root's @send, @count elements each */
COLL_FUNCTIONS(scatter, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype, uint32_t root);

/** scatterv: rank r gets @count elements, and @counts[r] of the root must be equal to that */
COLL_FUNCTIONS(scatterv, const void *send, const uint64_t *counts,
	       const uint64_t *displs, void *recv, uint64_t count,
	       enum coll_dtype dtype, uint32_t root);

/** alltoall: block r of @recv = block (this rank) of @send of rank r, @count each */
COLL_FUNCTIONS(alltoall, const void *send, void *recv, uint64_t count,
	       enum coll_dtype dtype);

/**
 * alltoallv: the same; each block has a count of its own
 *
 * @counts and @displs have two entries per rank: first all of @send, then all of @recv.
 */
COLL_FUNCTIONS(alltoallv, const void *send, void *recv, const uint64_t *counts,
	       const uint64_t *displs, enum coll_dtype dtype);

/** Commands and prepared forms of coll_allreduce(), coll_broadcast() and coll_barrier(). */
void coll_cmd_allreduce(coll_comm_t *comm, struct coll_cmd *cmd, const void *send,
			void *recv, uint64_t count, enum coll_dtype dtype,
			enum coll_op_code op);
void coll_cmd_broadcast(coll_comm_t *comm, struct coll_cmd *cmd, void *buf,
			uint64_t count, enum coll_dtype dtype, uint32_t root);
void coll_cmd_barrier(coll_comm_t *comm, struct coll_cmd *cmd);
int coll_allreduce_init(coll_comm_t *comm, const void *send, void *recv, uint64_t count,
			enum coll_dtype dtype, enum coll_op_code op,
			coll_request_t **req);
int coll_broadcast_init(coll_comm_t *comm, void *buf, uint64_t count,
			enum coll_dtype dtype, uint32_t root, coll_request_t **req);
int coll_barrier_init(coll_comm_t *comm, coll_request_t **req);

/**
 * coll_persist() - prepare any command to be started many times
 * @cmd: copied; what it points to must live as long as the request
 * @req: result
 */
int coll_persist(coll_comm_t *comm, const struct coll_cmd *cmd, coll_request_t **req);

/**
 * coll_start() - start a prepared command once more
 * @req: from coll_persist() or coll_X_init(), not under way
 *
 * coll_wait() and coll_test() then give its result and leave it ready for the next
 * start. Errors: EBUSY if it is under way, or has ended and nobody has taken its result; EINVAL if
 * it is not a prepared command.
 */
int coll_start(coll_request_t *req);

/** coll_startall() - start @n of them, in order, side by side; stops at the first error */
int coll_startall(coll_request_t **reqs, size_t n);

/** coll_request_free() - end a prepared command; EBUSY as coll_start() */
int coll_request_free(coll_request_t *req);

#undef COLL_FUNCTIONS

#endif /* COLL_COLLECTIVES_H */
