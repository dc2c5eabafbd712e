// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * MPI's collectives: what an application calls. Each function looks at its arguments and fills
 * in a command of coll; what is not for coll goes to the function of the MPI underneath.
 *
 * Ranks must come to the same answer without asking each other. So they may look only at what
 * MPI makes equal on all ranks: the communicator, the collective, the bytes of the type
 * signature where every rank knows them, and the operator with its type. Data that move only
 * are bytes for coll; a rank whose type has gaps copies. See Documentation/mpi.rst.
 */
#include <errno.h>
#include <stdlib.h>

#include "call.h"
#include "requests.h"
#include "types.h"

/* MPI's functions: they are declared in <mpi.h>. */
#define EXPAND(...)	__VA_ARGS__

#define BLOCKING(name, args, ...)						\
	int MPI_##name(__VA_ARGS__)						\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, true, comm);		\
										\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, true, why);				\
		return why == TAKEN ? call_run(&c) : PMPI_##name(EXPAND args, comm); \
	}

#define NONBLOCKING(name, iname, args, ...)					\
	int MPI_##iname(__VA_ARGS__, MPI_Request *request)			\
	{									\
		struct call c;							\
		enum reason why = call_open(&c, FN_##name, false, comm);	\
										\
		if (why == TAKEN)						\
			why = fill_##name(&c, EXPAND args);			\
		count_call(FN_##name, false, why);				\
		return why == TAKEN ? requests_start(&c, request) :		\
		       PMPI_##iname(EXPAND args, comm, request);		\
	}

#define BOTH(name, iname, args, ...)						\
	BLOCKING(name, args, __VA_ARGS__)					\
	NONBLOCKING(name, iname, args, __VA_ARGS__)

/* Results of a layout: coll's @out, and what is done when they are there. */
static void set_out(struct call *c, const struct layout *l, bool filled)
{
	if (!c->err)
		c->err = layout_open(l, filled, &c->out);
	c->to = *l;
}

static void set_in(struct call *c, const struct layout *l)
{
	if (!c->err)
		c->err = layout_open(l, true, &c->in);
}

/* Counts and displacements of @sides sides. */
static void make_arrays(struct call *c, int sides)
{
	size_t n = (size_t)c->size;

	c->arrays = calloc(2 * n * (size_t)sides, sizeof(*c->arrays));
	if (!c->arrays) {
		c->err = -ENOMEM;
		return;
	}
	c->out.counts = c->arrays + n * (size_t)(sides - 1);
	c->out.displs = c->arrays + n * (size_t)(2 * sides - 1);
	if (sides == 1)
		return;
	c->in.counts = c->arrays;
	c->in.displs = c->arrays + 2 * n;
}

static bool is_rank(const struct call *c, int root)
{
	return root >= 0 && root < c->size;
}

static const void *send_of(const void *buf)
{
	return buf == MPI_IN_PLACE ? COLL_IN_PLACE : buf;
}

/* The input, or that it is where the results go. */
static const void *in_of(const struct call *c, bool in_place)
{
	return in_place ? COLL_IN_PLACE : c->in.addr;
}

static coll_comm_t *coll_of(const struct call *c)
{
	return c->mc->coll;
}

/* --- barrier and broadcast ---------------------------------------------------- */

/* It takes as long as the smallest call with bytes. */
#define BARRIER_BYTES	8

static enum reason fill_Barrier(struct call *c)
{
	enum reason why = call_decide(c, BARRIER_BYTES);

	if (why == TAKEN)
		coll_cmd_barrier(coll_of(c), &c->cmd);
	return why;
}

int MPI_Barrier(MPI_Comm comm)
{
	struct call c;
	enum reason why = call_open(&c, FN_Barrier, true, comm);

	if (why == TAKEN)
		why = fill_Barrier(&c);
	count_call(FN_Barrier, true, why);
	return why == TAKEN ? call_run(&c) : PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	struct call c;
	enum reason why = call_open(&c, FN_Barrier, false, comm);

	if (why == TAKEN)
		why = fill_Barrier(&c);
	count_call(FN_Barrier, false, why);
	return why == TAKEN ? requests_start(&c, request) : PMPI_Ibarrier(comm, request);
}

static enum reason fill_Bcast(struct call *c, void *buf, int count, MPI_Datatype type, int root)
{
	struct layout l = layout_one(buf, count, type);
	enum reason why;

	if (!layout_is_valid(&l) || !is_rank(c, root))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&l));
	if (why != TAKEN)
		return why;
	set_out(c, &l, c->rank == root);
	if (c->rank == root)
		c->to.n = 0;
	coll_cmd_broadcast(coll_of(c), &c->cmd, c->out.addr, layout_bytes(&l), COLL_BYTE,
			   (uint32_t)root);
	return TAKEN;
}

BOTH(Bcast, Ibcast, (buf, count, type, root),
     void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)

/* --- reductions --------------------------------------------------------------- */

/* Vectors of @count elements. Types have no gaps that matter: nothing is copied. */
static enum reason decide_reduction(struct call *c, int64_t count, MPI_Datatype type, MPI_Op op,
				    enum coll_dtype *dtype, enum coll_op_code *code)
{
	if (count < 0)
		return ARGUMENT;
	if (!types_find_op(op, type, code, dtype))
		return OPERATOR;
	return call_decide(c, (uint64_t)count * coll_dtype_bytes(*dtype));
}

static enum reason fill_Allreduce(struct call *c, const void *send, void *recv, int count,
				  MPI_Datatype type, MPI_Op op)
{
	enum coll_dtype dtype;
	enum coll_op_code code;
	enum reason why = decide_reduction(c, count, type, op, &dtype, &code);

	if (why == TAKEN)
		coll_cmd_allreduce(coll_of(c), &c->cmd, send_of(send), recv, (uint64_t)count,
				   dtype, code);
	return why;
}

BOTH(Allreduce, Iallreduce, (send, recv, count, type, op),
     const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)

static enum reason fill_Reduce(struct call *c, const void *send, void *recv, int count,
			       MPI_Datatype type, MPI_Op op, int root)
{
	enum coll_dtype dtype;
	enum coll_op_code code;
	enum reason why;

	if (!is_rank(c, root))
		return ARGUMENT;
	why = decide_reduction(c, count, type, op, &dtype, &code);
	if (why == TAKEN)
		coll_cmd_reduce(coll_of(c), &c->cmd, send_of(send), recv, (uint64_t)count, dtype,
				code, (uint32_t)root);
	return why;
}

BOTH(Reduce, Ireduce, (send, recv, count, type, op, root),
     const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
     MPI_Comm comm)

static enum reason fill_Scan(struct call *c, const void *send, void *recv, int count,
			     MPI_Datatype type, MPI_Op op)
{
	enum coll_dtype dtype;
	enum coll_op_code code;
	enum reason why = decide_reduction(c, count, type, op, &dtype, &code);

	if (why == TAKEN)
		coll_cmd_scan(coll_of(c), &c->cmd, send_of(send), recv, (uint64_t)count, dtype,
			      code);
	return why;
}

BOTH(Scan, Iscan, (send, recv, count, type, op),
     const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)

static enum reason fill_Exscan(struct call *c, const void *send, void *recv, int count,
			       MPI_Datatype type, MPI_Op op)
{
	enum coll_dtype dtype;
	enum coll_op_code code;
	enum reason why = decide_reduction(c, count, type, op, &dtype, &code);

	if (why == TAKEN)
		coll_cmd_exscan(coll_of(c), &c->cmd, send_of(send), recv, (uint64_t)count, dtype,
				code);
	return why;
}

BOTH(Exscan, Iexscan, (send, recv, count, type, op),
     const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)

static enum reason fill_Reduce_scatter_block(struct call *c, const void *send, void *recv,
					     int count, MPI_Datatype type, MPI_Op op)
{
	enum coll_dtype dtype;
	enum coll_op_code code;
	enum reason why = decide_reduction(c, (int64_t)count * c->size, type, op, &dtype, &code);

	if (why == TAKEN)
		coll_cmd_reduce_scatter_block(coll_of(c), &c->cmd, send_of(send), recv,
					      (uint64_t)count, dtype, code);
	return why;
}

BOTH(Reduce_scatter_block, Ireduce_scatter_block, (send, recv, count, type, op),
     const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)

/* Return: the sum; negative: one of them is. */
static int64_t sum_of(const int *counts, int n)
{
	int64_t sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		if (counts[i] < 0)
			return -1;
		sum += counts[i];
	}
	return sum;
}

static enum reason fill_Reduce_scatter(struct call *c, const void *send, void *recv,
				       const int *counts, MPI_Datatype type, MPI_Op op)
{
	enum coll_dtype dtype;
	enum coll_op_code code;
	enum reason why = decide_reduction(c, sum_of(counts, c->size), type, op, &dtype, &code);
	int i;

	if (why != TAKEN)
		return why;
	make_arrays(c, 1);
	for (i = 0; i < c->size && !c->err; i++)
		c->arrays[i] = (uint64_t)counts[i];
	coll_cmd_reduce_scatter(coll_of(c), &c->cmd, send_of(send), recv, c->arrays, dtype, code);
	return TAKEN;
}

BOTH(Reduce_scatter, Ireduce_scatter, (send, recv, counts, type, op),
     const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op,
     MPI_Comm comm)

/* --- gather and scatter ------------------------------------------------------- */

static enum reason fill_Gather(struct call *c, const void *send, int scount, MPI_Datatype stype,
			       void *recv, int rcount, MPI_Datatype rtype, int root)
{
	bool is_root = c->rank == root, in_place = is_root && send == MPI_IN_PLACE;
	struct layout to = layout_one(recv, (int64_t)rcount * c->size, rtype);
	struct layout from = in_place ? layout_one(recv, rcount, rtype) :
			     layout_one(send, scount, stype);
	uint64_t bytes;
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&from) || (is_root && !layout_is_valid(&to)))
		return ARGUMENT;
	bytes = layout_bytes(&from);
	why = call_decide(c, bytes * (uint64_t)c->size);
	if (why != TAKEN)
		return why;
	if (!in_place)
		set_in(c, &from);
	if (is_root)
		set_out(c, &to, in_place);
	coll_cmd_gather(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr, bytes, COLL_BYTE,
			(uint32_t)root);
	return TAKEN;
}

BOTH(Gather, Igather, (send, scount, stype, recv, rcount, rtype, root),
     const void *send, int scount, MPI_Datatype stype, void *recv, int rcount,
     MPI_Datatype rtype, int root, MPI_Comm comm)

static struct layout layout_v(const struct call *c, const void *base, const int *counts,
			      const int *displs, MPI_Datatype type)
{
	return (struct layout){ .base = (void *)base, .n = c->size, .counts = counts,
				.displs = displs, .type = type };
}

static enum reason fill_Gatherv(struct call *c, const void *send, int scount, MPI_Datatype stype,
				void *recv, const int *rcounts, const int *displs,
				MPI_Datatype rtype, int root)
{
	bool is_root = c->rank == root, in_place = is_root && send == MPI_IN_PLACE;
	struct layout to = layout_v(c, recv, rcounts, displs, rtype);
	struct layout from = layout_one(send, in_place ? 0 : scount, in_place ? MPI_BYTE : stype);
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&from) || (is_root && !layout_is_valid(&to)))
		return ARGUMENT;
	why = call_decide(c, CALL_UNKNOWN);
	if (why != TAKEN)
		return why;
	make_arrays(c, 1);
	if (is_root)
		set_out(c, &to, in_place);
	if (!in_place)
		set_in(c, &from);
	coll_cmd_gatherv(coll_of(c), &c->cmd, in_of(c, in_place),
			 in_place && !c->err ? c->out.counts[root] : layout_bytes(&from),
			 c->out.addr, c->out.counts, c->out.displs, COLL_BYTE, (uint32_t)root);
	return TAKEN;
}

BOTH(Gatherv, Igatherv, (send, scount, stype, recv, rcounts, displs, rtype, root),
     const void *send, int scount, MPI_Datatype stype, void *recv, const int *rcounts,
     const int *displs, MPI_Datatype rtype, int root, MPI_Comm comm)

static enum reason fill_Scatter(struct call *c, const void *send, int scount, MPI_Datatype stype,
				void *recv, int rcount, MPI_Datatype rtype, int root)
{
	bool is_root = c->rank == root, in_place = is_root && recv == MPI_IN_PLACE;
	struct layout from = layout_one(send, (int64_t)scount * c->size, stype);
	struct layout to = in_place ? layout_one(send, scount, stype) :
			   layout_one(recv, rcount, rtype);
	uint64_t bytes;
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&to) || (is_root && !layout_is_valid(&from)))
		return ARGUMENT;
	bytes = layout_bytes(&to);
	why = call_decide(c, bytes * (uint64_t)c->size);
	if (why != TAKEN)
		return why;
	if (is_root)
		set_in(c, &from);
	if (!in_place)
		set_out(c, &to, false);
	coll_cmd_scatter(coll_of(c), &c->cmd, c->in.addr,
			 in_place ? (void *)COLL_IN_PLACE : c->out.addr, bytes, COLL_BYTE,
			 (uint32_t)root);
	return TAKEN;
}

BOTH(Scatter, Iscatter, (send, scount, stype, recv, rcount, rtype, root),
     const void *send, int scount, MPI_Datatype stype, void *recv, int rcount,
     MPI_Datatype rtype, int root, MPI_Comm comm)

static enum reason fill_Scatterv(struct call *c, const void *send, const int *scounts,
				 const int *displs, MPI_Datatype stype, void *recv, int rcount,
				 MPI_Datatype rtype, int root)
{
	bool is_root = c->rank == root, in_place = is_root && recv == MPI_IN_PLACE;
	struct layout from = layout_v(c, send, scounts, displs, stype);
	struct layout to = layout_one(recv, in_place ? 0 : rcount, in_place ? MPI_BYTE : rtype);
	enum reason why;

	if (!is_rank(c, root) || !layout_is_valid(&to) || (is_root && !layout_is_valid(&from)))
		return ARGUMENT;
	why = call_decide(c, CALL_UNKNOWN);
	if (why != TAKEN)
		return why;
	make_arrays(c, 2);
	c->out.counts = NULL;
	if (is_root)
		set_in(c, &from);
	if (!in_place)
		set_out(c, &to, false);
	coll_cmd_scatterv(coll_of(c), &c->cmd, c->in.addr, c->in.counts, c->in.displs,
			  in_place ? (void *)COLL_IN_PLACE : c->out.addr,
			  in_place && !c->err ? c->in.counts[root] : layout_bytes(&to), COLL_BYTE,
			  (uint32_t)root);
	return TAKEN;
}

BOTH(Scatterv, Iscatterv, (send, scounts, displs, stype, recv, rcount, rtype, root),
     const void *send, const int *scounts, const int *displs, MPI_Datatype stype, void *recv,
     int rcount, MPI_Datatype rtype, int root, MPI_Comm comm)

/* --- from all to all ---------------------------------------------------------- */

static enum reason fill_Allgather(struct call *c, const void *send, int scount,
				  MPI_Datatype stype, void *recv, int rcount, MPI_Datatype rtype)
{
	bool in_place = send == MPI_IN_PLACE;
	struct layout to = layout_one(recv, (int64_t)rcount * c->size, rtype);
	struct layout from = layout_one(send, in_place ? rcount : scount,
					in_place ? rtype : stype);
	enum reason why;

	if (!layout_is_valid(&from) || !layout_is_valid(&to))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&to));
	if (why != TAKEN)
		return why;
	if (!in_place)
		set_in(c, &from);
	set_out(c, &to, in_place);
	coll_cmd_allgather(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr,
			   layout_bytes(&from), COLL_BYTE);
	return TAKEN;
}

BOTH(Allgather, Iallgather, (send, scount, stype, recv, rcount, rtype),
     const void *send, int scount, MPI_Datatype stype, void *recv, int rcount,
     MPI_Datatype rtype, MPI_Comm comm)

static enum reason fill_Allgatherv(struct call *c, const void *send, int scount,
				   MPI_Datatype stype, void *recv, const int *rcounts,
				   const int *displs, MPI_Datatype rtype)
{
	bool in_place = send == MPI_IN_PLACE;
	struct layout to = layout_v(c, recv, rcounts, displs, rtype);
	struct layout from = layout_one(send, in_place ? 0 : scount, in_place ? MPI_BYTE : stype);
	enum reason why;

	if (!layout_is_valid(&from) || !layout_is_valid(&to))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&to));
	if (why != TAKEN)
		return why;
	make_arrays(c, 1);
	if (!in_place)
		set_in(c, &from);
	set_out(c, &to, in_place);
	coll_cmd_allgatherv(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr, c->out.counts,
			    c->out.displs, COLL_BYTE);
	return TAKEN;
}

BOTH(Allgatherv, Iallgatherv, (send, scount, stype, recv, rcounts, displs, rtype),
     const void *send, int scount, MPI_Datatype stype, void *recv, const int *rcounts,
     const int *displs, MPI_Datatype rtype, MPI_Comm comm)

static enum reason fill_Alltoall(struct call *c, const void *send, int scount,
				 MPI_Datatype stype, void *recv, int rcount, MPI_Datatype rtype)
{
	bool in_place = send == MPI_IN_PLACE;
	struct layout to = layout_one(recv, (int64_t)rcount * c->size, rtype);
	struct layout from = layout_one(send, (int64_t)scount * c->size, stype);
	enum reason why;

	if (!layout_is_valid(&to) || (!in_place && !layout_is_valid(&from)))
		return ARGUMENT;
	why = call_decide(c, layout_bytes(&to));
	if (why != TAKEN)
		return why;
	if (!in_place)
		set_in(c, &from);
	set_out(c, &to, in_place);
	coll_cmd_alltoall(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr,
			  layout_bytes(&to) / (uint64_t)c->size, COLL_BYTE);
	return TAKEN;
}

BOTH(Alltoall, Ialltoall, (send, scount, stype, recv, rcount, rtype),
     const void *send, int scount, MPI_Datatype stype, void *recv, int rcount,
     MPI_Datatype rtype, MPI_Comm comm)

/* Alltoallv and alltoallw: blocks of any size, which only their two ranks know. */
static enum reason exchange(struct call *c, const struct layout *from, const struct layout *to,
			    bool in_place)
{
	enum reason why;

	if (!layout_is_valid(to) || (!in_place && !layout_is_valid(from)))
		return ARGUMENT;
	why = call_decide(c, CALL_UNKNOWN);
	if (why != TAKEN)
		return why;
	make_arrays(c, 2);
	set_out(c, to, in_place);
	if (in_place && !c->err) {
		memcpy(c->in.counts, c->out.counts, (size_t)c->size * sizeof(uint64_t));
		memcpy(c->in.displs, c->out.displs, (size_t)c->size * sizeof(uint64_t));
	} else if (!c->err) {
		set_in(c, from);
	}
	coll_cmd_alltoallv(coll_of(c), &c->cmd, in_of(c, in_place), c->out.addr, c->arrays,
			   c->arrays ? c->in.displs : NULL, COLL_BYTE);
	return TAKEN;
}

static enum reason fill_Alltoallv(struct call *c, const void *send, const int *scounts,
				  const int *sdispls, MPI_Datatype stype, void *recv,
				  const int *rcounts, const int *rdispls, MPI_Datatype rtype)
{
	struct layout from = layout_v(c, send, scounts, sdispls, stype);
	struct layout to = layout_v(c, recv, rcounts, rdispls, rtype);

	return exchange(c, &from, &to, send == MPI_IN_PLACE);
}

BOTH(Alltoallv, Ialltoallv, (send, scounts, sdispls, stype, recv, rcounts, rdispls, rtype),
     const void *send, const int *scounts, const int *sdispls, MPI_Datatype stype, void *recv,
     const int *rcounts, const int *rdispls, MPI_Datatype rtype, MPI_Comm comm)

static enum reason fill_Alltoallw(struct call *c, const void *send, const int *scounts,
				  const int *sdispls, const MPI_Datatype *stypes, void *recv,
				  const int *rcounts, const int *rdispls,
				  const MPI_Datatype *rtypes)
{
	struct layout from = { .base = (void *)send, .n = c->size, .counts = scounts,
			       .displs = sdispls, .types = stypes };
	struct layout to = { .base = recv, .n = c->size, .counts = rcounts,
			     .displs = rdispls, .types = rtypes };

	return exchange(c, &from, &to, send == MPI_IN_PLACE);
}

/* Only this form: the application may free the types before a nonblocking one is over. */
BLOCKING(Alltoallw, (send, scounts, sdispls, stypes, recv, rcounts, rdispls, rtypes),
	 const void *send, const int *scounts, const int *sdispls, const MPI_Datatype *stypes,
	 void *recv, const int *rcounts, const int *rdispls, const MPI_Datatype *rtypes,
	 MPI_Comm comm)
