/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A collective of MPI that coll does. */
#ifndef LIBCOLL_MPI_CALL_H
#define LIBCOLL_MPI_CALL_H

#include <mpi.h>

#include <coll/coll.h>

#include "comms.h"
#include "count.h"
#include "layout.h"

/**
 * struct call - one call
 * @fn: which collective
 * @form: form of the call
 * @probe: only find out whether coll does the call: buffers are not looked at
 * @wide: arrays of numbers in the arguments are those of functions with _c; see struct layout
 * @comm: communicator of the application
 * @mc: state that belongs to @comm; NULL: none yet
 * @rank: of this process
 * @size: ranks in all
 * @coll: communicator of coll that does the call, once that has been decided
 * @cmd: for coll
 * @op: operator of the application, on elements of @type; MPI_OP_NULL: see @cmd for it
 * @type: of elements
 * @req: coll's request while it is under way; NULL before and after
 * @err: negative errno of coll, when the call is over; for a call that is not under way: why it
 *	could not begin
 * @in: where coll finds the input
 * @out: where it writes the result
 * @from: where the application has its input, if that is only moved
 * @to: where the application wants the result, if @out is a copy
 * @stores: the application wants a result on this rank
 * @arrays: counts and displacements of v-forms; owned
 */
struct call {
	enum function fn;
	enum form form;
	bool probe;
	bool wide;
	MPI_Comm comm;
	struct mpi_comm *mc;
	int rank, size;
	coll_comm_t *coll;
	struct coll_cmd cmd;
	MPI_Op op;
	MPI_Datatype type;
	coll_request_t *req;
	int err;
	struct bytes in, out;
	struct layout from, to;
	bool stores;
	uint64_t *arrays;
};

/**
 * call_open() - look at the communicator
 *
 * Sets @c->rank and @c->size if the call may be one for coll. Nothing is communicated.
 */
enum reason call_open(struct call *c, enum function fn, enum form form, MPI_Comm comm);

/**
 * call_decide() - does coll do this call?
 * @bytes: of all blocks of one rank, a number that every rank knows; or CALL_UNKNOWN
 *
 * The arguments are correct on this rank: a call with wrong ones has gone to the MPI underneath.
 */
#define CALL_UNKNOWN	UINT64_MAX
enum reason call_decide(struct call *c, uint64_t bytes);

/**
 * call_make_arrays() - allocate counts and displacements of blocks
 * @sides: 1: those of @c->out; 2: also those of @c->in, which come first
 *
 * Without memory @c->err is set.
 */
void call_make_arrays(struct call *c, int sides);

/**
 * call_copy_in() - make @c->in a copy of input that lies where the results go
 * @from: @c->in.len bytes
 *
 * If results come while the input is still needed, the kernel would copy the input to memory that
 * counts as locked, of which users may have little. Without memory @c->err is set.
 */
void call_copy_in(struct call *c, const void *from);

/** call_run() - do it, and wait. Return: for the application; its error handler has been called. */
int call_run(struct call *c);

/** call_start() - begin a call; if that fails it is over at once */
void call_start(struct call *c);

/**
 * call_look() - is a call over?
 * @ns: wait for this long, and drive the MPI underneath at the end; 0: only look
 *
 * When it is over the results are where the application wants them.
 */
bool call_look(struct call *c, uint64_t ns);

/** call_end() - free all that belongs to a call, but not @c. Return: code for MPI */
int call_end(struct call *c);

#endif
