// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Barrier, and collectives that reduce. */
#include "forms.h"
#include "types.h"

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

static const void *send_of(const void *buf)
{
	return buf == MPI_IN_PLACE ? COLL_IN_PLACE : buf;
}

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
	call_make_arrays(c, 1);
	for (i = 0; i < c->size && !c->err; i++)
		c->arrays[i] = (uint64_t)counts[i];
	coll_cmd_reduce_scatter(coll_of(c), &c->cmd, send_of(send), recv, c->arrays, dtype, code);
	return TAKEN;
}

BOTH(Reduce_scatter, Ireduce_scatter, (send, recv, counts, type, op),
     const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op,
     MPI_Comm comm)
