// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Barrier, and collectives that reduce. */
#include <errno.h>
#include <stdlib.h>

#include "forms.h"
#include "operators.h"
#include "sides.h"
#include "types.h"

/* A barrier takes as long as the smallest call with bytes. */
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
	enum reason why = call_open(&c, FN_Barrier, BLOCKING, comm);

	if (why == TAKEN)
		why = fill_Barrier(&c);
	count_call(FN_Barrier, BLOCKING, why);
	return why == TAKEN ? call_run(&c) : PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	struct call c;
	enum reason why = call_open(&c, FN_Barrier, NONBLOCKING, comm);

	if (why == TAKEN)
		why = fill_Barrier(&c);
	count_call(FN_Barrier, NONBLOCKING, why);
	return why == TAKEN ? requests_start(&c, request) : PMPI_Ibarrier(comm, request);
}

#ifdef PERSISTENT_NAME
static enum reason again_Barrier(struct call *c, const struct arguments *saved)
{
	(void)saved;
	return fill_Barrier(c);
}

int PERSISTENT_NAME(MPI, Barrier, )(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct arguments saved = { 0 };
	int ret = MPI_SUCCESS;
	struct call c;

	if (persistent_init(&c, FN_Barrier, again_Barrier, &saved, comm, request, &ret) == TAKEN)
		return ret;
	return PERSISTENT_NAME(PMPI, Barrier, )(comm, info, request);
}
#endif

/**
 * struct operands - operator and elements of a reduction
 * @dtype: type of coll
 * @code: operator of coll
 * @elem: bytes of an element
 * @in_place: the input lies where the result goes
 */
struct operands {
	enum coll_dtype dtype;
	enum coll_op_code code;
	uint64_t elem;
	bool in_place;
};

/* A rank needs memory for an element of each rank, even if the vector has one element only. */
#define USERS_MOST	(8 << 20)

/* Operators of the application run in the thread that waits, so only in blocking calls. */
static bool is_users(struct call *c, MPI_Datatype type, MPI_Op op)
{
	if (c->form != BLOCKING || !operators_can(op, type) ||
	    types_size(type) > USERS_MOST / (uint64_t)c->size)
		return false;
	c->op = op;
	c->type = type;
	return true;
}

/* For vectors of @count elements. Nothing is packed: coll has types with the same gaps. */
static enum reason decide_reduction(struct call *c, const void *send, int64_t count,
				    MPI_Datatype type, MPI_Op op, struct operands *o)
{
	if (count < 0)
		return ARGUMENT;
	o->in_place = send == MPI_IN_PLACE;
	if (types_find_op(op, type, &o->code, &o->dtype)) {
		o->elem = coll_dtype_bytes(o->dtype);
	} else if (is_users(c, type, op)) {
		o->code = COLL_OP_USER;
		o->dtype = COLL_OPAQUE;
		o->elem = types_size(type);
	} else {
		return OPERATOR;
	}
	if (o->elem && (uint64_t)count > INT64_MAX / o->elem)
		return ARGUMENT;
	return call_decide(c, (uint64_t)count * o->elem);
}

/* Set the vectors: @nr_in elements of input, @nr_out of output. */
static void set_vectors(struct call *c, const struct operands *o, const void *send, int64_t nr_in,
			void *recv, int64_t nr_out)
{
	c->in.addr = o->in_place ? NULL : (void *)send;
	c->in.len = (uint64_t)nr_in * o->elem;
	c->out.addr = recv;
	c->out.len = (uint64_t)nr_out * o->elem;
	c->out.gap = types_gap(o->dtype);
	c->stores = true;
}

static enum reason fill_Allreduce(struct call *c, const void *send, void *recv, int64_t count,
				  MPI_Datatype type, MPI_Op op)
{
	struct operands o;
	enum reason why = decide_reduction(c, send, count, type, op, &o);

	if (why != TAKEN)
		return why;
	set_vectors(c, &o, send, count, recv, count);
	coll_cmd_allreduce(coll_of(c), &c->cmd, in_of(c, o.in_place), recv, (uint64_t)count,
			   o.dtype, o.code);
	return TAKEN;
}

#define Allreduce_ARGS(C, D)							\
	const void *send, void *recv, C count, MPI_Datatype type, MPI_Op op,	\
	MPI_Comm comm
ALL_FORMS(Allreduce, Iallreduce, (send, recv, count, type, op))

static enum reason fill_Reduce(struct call *c, const void *send, void *recv, int64_t count,
			       MPI_Datatype type, MPI_Op op, int root)
{
	struct operands o;
	enum reason why;

	if (!is_rank(c, root))
		return ARGUMENT;
	why = decide_reduction(c, send, count, type, op, &o);
	if (why != TAKEN)
		return why;
	set_vectors(c, &o, send, count, recv, count);
	coll_cmd_reduce(coll_of(c), &c->cmd, in_of(c, o.in_place), recv, (uint64_t)count, o.dtype,
			o.code, (uint32_t)root);
	return TAKEN;
}

#define Reduce_ARGS(C, D)							\
	const void *send, void *recv, C count, MPI_Datatype type, MPI_Op op,	\
	int root, MPI_Comm comm
ALL_FORMS(Reduce, Ireduce, (send, recv, count, type, op, root))

static enum reason fill_Scan(struct call *c, const void *send, void *recv, int64_t count,
			     MPI_Datatype type, MPI_Op op)
{
	struct operands o;
	enum reason why = decide_reduction(c, send, count, type, op, &o);

	if (why != TAKEN)
		return why;
	set_vectors(c, &o, send, count, recv, count);
	coll_cmd_scan(coll_of(c), &c->cmd, in_of(c, o.in_place), recv, (uint64_t)count, o.dtype,
		      o.code);
	return TAKEN;
}

#define Scan_ARGS(C, D)								\
	const void *send, void *recv, C count, MPI_Datatype type, MPI_Op op,	\
	MPI_Comm comm
ALL_FORMS(Scan, Iscan, (send, recv, count, type, op))

/* Rank 0 has no result, and MPI allows anything as its buffer; coll needs a real buffer. */
static void set_no_result(struct call *c)
{
	if (c->probe)
		return;
	c->out.tmp = malloc(c->out.len);
	c->out.addr = c->out.tmp;
	if (!c->out.tmp)
		c->err = -ENOMEM;
	c->stores = false;
}

static enum reason fill_Exscan(struct call *c, const void *send, void *recv, int64_t count,
			       MPI_Datatype type, MPI_Op op)
{
	struct operands o;
	enum reason why = decide_reduction(c, send, count, type, op, &o);

	if (why != TAKEN)
		return why;
	set_vectors(c, &o, send, count, recv, count);
	if (!c->rank && !o.in_place)
		set_no_result(c);
	coll_cmd_exscan(coll_of(c), &c->cmd, in_of(c, o.in_place), c->out.addr, (uint64_t)count,
			o.dtype, o.code);
	return TAKEN;
}

#define Exscan_ARGS(C, D)							\
	const void *send, void *recv, C count, MPI_Datatype type, MPI_Op op,	\
	MPI_Comm comm
ALL_FORMS(Exscan, Iexscan, (send, recv, count, type, op))

/* set_vectors() of reduce_scatter. In place the input is still needed when results come. */
static void set_scattered(struct call *c, const struct operands *o, const void *send,
			  int64_t nr_in, void *recv, int64_t nr_out)
{
	set_vectors(c, o, send, nr_in, recv, nr_out);
	if (o->in_place)
		call_copy_in(c, recv);
}

static enum reason fill_Reduce_scatter_block(struct call *c, const void *send, void *recv,
					     int64_t count, MPI_Datatype type, MPI_Op op)
{
	struct operands o;
	int64_t sum = of_all(c, count);
	enum reason why = decide_reduction(c, send, sum, type, op, &o);

	if (why != TAKEN)
		return why;
	set_scattered(c, &o, send, sum, recv, count);
	coll_cmd_reduce_scatter_block(coll_of(c), &c->cmd, c->in.addr, recv, (uint64_t)count,
				      o.dtype, o.code);
	return TAKEN;
}

#define Reduce_scatter_block_ARGS(C, D)						\
	const void *send, void *recv, C count, MPI_Datatype type, MPI_Op op,	\
	MPI_Comm comm
ALL_FORMS(Reduce_scatter_block, Ireduce_scatter_block, (send, recv, count, type, op))

/* Return: the sum; negative: one of the counts is, or the sum is too large. */
static int64_t sum_of(const struct call *c, const void *counts)
{
	int64_t sum = 0, count;
	int i;

	for (i = 0; i < c->size; i++) {
		count = layout_count_of(counts, c->wide, i);
		if (count < 0 || count > INT64_MAX - sum)
			return -1;
		sum += count;
	}
	return sum;
}

static enum reason fill_Reduce_scatter(struct call *c, const void *send, void *recv,
				       const void *counts, MPI_Datatype type, MPI_Op op)
{
	struct operands o;
	int64_t sum = sum_of(c, counts);
	enum reason why = decide_reduction(c, send, sum, type, op, &o);
	int i;

	if (why != TAKEN)
		return why;
	set_scattered(c, &o, send, sum, recv, layout_count_of(counts, c->wide, c->rank));
	call_make_arrays(c, 1);
	/* Counts are of the input; the result is one block. */
	c->out.counts = NULL;
	c->out.displs = NULL;
	for (i = 0; i < c->size && !c->err; i++)
		c->arrays[i] = (uint64_t)layout_count_of(counts, c->wide, i);
	coll_cmd_reduce_scatter(coll_of(c), &c->cmd, c->in.addr, recv, c->arrays, o.dtype, o.code);
	return TAKEN;
}

#define Reduce_scatter_ARGS(C, D)						\
	const void *send, void *recv, const C *counts, MPI_Datatype type,	\
	MPI_Op op, MPI_Comm comm
ALL_FORMS(Reduce_scatter, Ireduce_scatter, (send, recv, counts, type, op))
