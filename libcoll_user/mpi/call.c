// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>

#include "base/relax.h"
#include "call.h"
#include "drive.h"
#include "error.h"

/* Bytes of a call for the limit, if not every rank knows them */
#define TAKE_AS		16384

static enum reason look_at_new(struct call *c)
{
	int between = 0;

	PMPI_Comm_test_inter(c->comm, &between);
	if (between)
		return BETWEEN;
	PMPI_Comm_size(c->comm, &c->size);
	PMPI_Comm_rank(c->comm, &c->rank);
	return c->size == 1 ? ALONE : TAKEN;
}

enum reason call_open(struct call *c, enum function fn, bool blocking, MPI_Comm comm)
{
	*c = (struct call){ .fn = fn, .blocking = blocking, .comm = comm };
	if (comm == MPI_COMM_NULL)
		return ARGUMENT;
	c->mc = comms_get(comm, false);
	if (!c->mc)
		return look_at_new(c);
	c->rank = c->mc->rank;
	c->size = c->mc->size;
	return c->mc->why;
}

enum reason call_decide(struct call *c, uint64_t bytes)
{
	if (bytes == 0)
		return EMPTY;
	if (!c->mc)
		c->mc = comms_get(c->comm, c->blocking);
	if (!c->mc)
		return EARLY;
	if (c->mc->why != TAKEN)
		return c->mc->why;
	if (bytes == CALL_UNKNOWN)
		bytes = TAKE_AS;
	return bytes < c->mc->least ? SLOWER : TAKEN;
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

/*
 * A command that was refused does not count: the next command of this rank would be matched with
 * the one in which the others wait. If the communicator has failed already, its cause stays.
 */
static void give_up(struct call *c)
{
	coll_abort(c->mc->coll, (uint32_t)-c->err);
	c->req = NULL;
}

void call_start(struct call *c)
{
	if (!c->err)
		c->err = coll_isubmit(c->mc->coll, &c->cmd, &c->req);
	if (c->err)
		give_up(c);
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
		layout_store(&c->to, &c->out);
	c->req = NULL;
	return true;
}

void call_wait(struct call *c)
{
	uint64_t start = relax_now_ns(), waited = 0;

	while (!call_look(c, drive_pause_ns(waited)))
		waited = relax_now_ns() - start;
}

int call_end(struct call *c)
{
	free(c->in.tmp);
	free(c->out.tmp);
	free(c->arrays);
	c->in.tmp = c->out.tmp = NULL;
	c->arrays = NULL;
	return c->err ? error_code(c->err, count_name(c->fn), c->mc->coll) : MPI_SUCCESS;
}

int call_run(struct call *c)
{
	int code;

	if (!c->err)
		c->err = coll_submit(c->mc->coll, &c->cmd);
	if (c->err)
		give_up(c);
	else
		layout_store(&c->to, &c->out);
	code = call_end(c);
	if (code != MPI_SUCCESS) {
		PMPI_Comm_call_errhandler(c->comm, code);
		return code;
	}
	return MPI_SUCCESS;
}
