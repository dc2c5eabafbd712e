// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aside.h"
#include "call.h"
#include "drive.h"
#include "error.h"
#include "operators.h"

/* Bytes that are compared with the limit, if not every rank knows those of the call */
#define TAKE_AS		16384

static enum reason look_at_new(struct call *c)
{
	int between = 0;

	/* For an invalid handle these fail. The MPI reports the error of the call. */
	if (PMPI_Comm_test_inter(c->comm, &between))
		return ARGUMENT;
	if (between)
		return BETWEEN;
	if (PMPI_Comm_size(c->comm, &c->size) || PMPI_Comm_rank(c->comm, &c->rank))
		return ARGUMENT;
	return c->size == 1 ? ALONE : TAKEN;
}

enum reason call_open(struct call *c, enum function fn, enum form form, MPI_Comm comm)
{
	*c = (struct call){
		.fn = fn, .form = form, .probe = form == PERSISTENT, .comm = comm,
		.op = MPI_OP_NULL, .type = MPI_DATATYPE_NULL,
	};
	if (comm == MPI_COMM_NULL)
		return ARGUMENT;
	c->mc = comms_get(comm, false);
	if (!c->mc)
		return look_at_new(c);
	c->rank = c->mc->rank;
	c->size = c->mc->size;
	return c->mc->why;
}

/* The kernel takes no larger buffers. */
#define MOST_BYTES	(256ULL << 30)

/* All ranks get the same answer: all that this function reads is equal on all ranks. */
static bool is_too_large(const struct call *c, uint64_t bytes)
{
	const char *algorithm = NULL;

	if (bytes != CALL_UNKNOWN && bytes > MOST_BYTES)
		return true;
	if (c->fn == FN_Alltoall)
		algorithm = coll_comm_algorithm(c->mc->coll, COLL_ALLTOALL,
						bytes / (uint64_t)c->size);
	return !fits_call(&c->mc->fits, c->fn, c->op != MPI_OP_NULL, algorithm);
}

enum reason call_decide(struct call *c, uint64_t bytes)
{
	if (bytes == 0)
		return EMPTY;
	if (!c->mc)
		c->mc = comms_get(c->comm, c->form != NONBLOCKING);
	if (!c->mc)
		return EARLY;
	if (c->mc->why != TAKEN)
		return c->mc->why;
	if (c->form != BLOCKING && c->mc->outside)
		return OUTSIDE;
	if (is_too_large(c, bytes))
		return LARGE;
	if (bytes == CALL_UNKNOWN)
		bytes = TAKE_AS;
	if (bytes < c->mc->least)
		return SLOWER;
	if (!c->coll)
		c->coll = c->mc->coll;
	return TAKEN;
}

void call_make_arrays(struct call *c, int sides)
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

void call_copy_in(struct call *c, const void *from)
{
	if (c->probe)
		return;
	c->in.tmp = malloc(c->in.len + 1);
	c->in.addr = c->in.tmp;
	if (c->in.tmp)
		memcpy(c->in.tmp, from, c->in.len);
	else
		c->err = -ENOMEM;
}

/*
 * Abort. A command that was refused does not count: the next command of this rank would be matched
 * with the one in which the others wait. If the communicator has failed already, its cause stays.
 */
static void give_up(struct call *c)
{
	coll_abort(c->coll, (uint32_t)-c->err);
	c->req = NULL;
}

/* An error is this rank's alone: the others have their results. */
static void store(struct call *c)
{
	if (c->stores && c->out.home)
		aside_store(&c->out, c->size);
	else if (c->stores)
		c->err = layout_store(&c->to, &c->out);
}

static int copy_aside(struct call *c, bool in, bool out)
{
	bool filled = c->cmd.flags & COLL_CMD_INPLACE ||
		      (c->cmd.collective == COLL_BROADCAST && !c->stores);
	int ret = in ? aside_begin(&c->in, c->size, true) : 0;

	if (!ret && in)
		c->cmd.send_addr = (uintptr_t)c->in.addr;
	if (!ret && out)
		ret = aside_begin(&c->out, c->size, filled);
	if (!ret && out)
		c->cmd.recv_addr = (uintptr_t)c->out.addr;
	return ret;
}

/* Results have zeros in the gaps of elements. There the application may have bytes of its own. */
static void keep_gaps(struct call *c)
{
	if (!c->err && c->out.gap.len && c->stores && c->cmd.recv_addr && !c->out.tmp)
		c->err = copy_aside(c, false, true);
}

/*
 * The kernel refuses some memory, such as output in a shared mapping of a file, or memory with a
 * userfaultfd. A command that was refused does not count: it may be submitted again, with copies.
 * Return: whether to submit it again.
 */
static bool is_put_aside(struct call *c)
{
	bool in = c->cmd.send_addr && !c->in.tmp, out = c->cmd.recv_addr && !c->out.tmp;
	struct coll_status st;

	/* A call with an operator of the application is several commands. */
	if (c->err != -EFAULT || c->op != MPI_OP_NULL || (!in && !out))
		return false;
	if (coll_comm_status(c->coll, &st) || st.state == COLL_STATE_FAILED)
		return false;
	if (copy_aside(c, in, out))
		return false;
	c->err = 0;
	return true;
}

/* Submit the command. A refusal is known at once, unless it waits for room in the kernel. */
static void submit(struct call *c)
{
	int done = 0, ret;

	c->cmd.flags |= c->mc->no_wait;
	c->err = coll_isubmit(c->coll, &c->cmd, &c->req);
	if (c->err)
		return;
	ret = coll_test(c->req, &done);
	if (!done)
		return;
	c->err = ret;
	c->req = NULL;
}

void call_start(struct call *c)
{
	keep_gaps(c);
	if (!c->err)
		submit(c);
	if (is_put_aside(c))
		submit(c);
	if (c->err)
		give_up(c);
	else if (!c->req)
		store(c);
}

bool call_look(struct call *c, uint64_t ns)
{
	int done = 1, ret;

	if (!c->req)
		return true;
	ret = coll_wait_for(c->req, ns, &done);
	if (!done) {
		if (ns)
			drive_mpi();
		return false;
	}
	c->err = ret;
	if (ret)
		give_up(c);
	else
		store(c);
	c->req = NULL;
	return true;
}

int call_end(struct call *c)
{
	free(c->in.tmp);
	free(c->out.tmp);
	free(c->in.home_displs);
	free(c->out.home_displs);
	free(c->arrays);
	c->in.tmp = c->out.tmp = NULL;
	c->in.home_displs = c->out.home_displs = NULL;
	c->arrays = NULL;
	return c->err ? error_code(c->err, count_name(c->fn), c->coll) : MPI_SUCCESS;
}

int call_run(struct call *c)
{
	int code;

	keep_gaps(c);
	if (!c->err && c->op != MPI_OP_NULL)
		c->err = operators_run(c);
	else if (!c->err)
		c->err = coll_submit(c->coll, &c->cmd);
	if (is_put_aside(c))
		c->err = coll_submit(c->coll, &c->cmd);
	if (c->err)
		give_up(c);
	else
		store(c);
	code = call_end(c);
	if (code != MPI_SUCCESS) {
		PMPI_Comm_call_errhandler(c->comm, code);
		return code;
	}
	return MPI_SUCCESS;
}
