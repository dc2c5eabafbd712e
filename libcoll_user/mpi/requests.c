// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>

#include "error.h"
#include "pending.h"
#include "requests.h"
#include "types.h"

/**
 * struct nonblocking - a request for one call
 * @has_type: the request has its own copy of the type of the results
 */
struct nonblocking {
	struct pending p;
	bool has_type;
};

/* MPI calls this function and the next two for a generalized request. */
static int query(void *state, MPI_Status *status)
{
	const struct pending *p = state;

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return p->call.err ? error_code(p->call.err, count_name(p->call.fn), p->call.coll) :
	       MPI_SUCCESS;
}

static int release(void *state)
{
	struct nonblocking *n = state;
	struct mpi_comm *mc = n->p.call.mc;

	pending_drop(&n->p);
	if (n->has_type)
		PMPI_Type_free(&n->p.call.to.type);
	call_end(&n->p.call);
	comms_put(mc);
	free(n);
	return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
	(void)state, (void)complete;
	return MPI_SUCCESS;
}

static void tell(struct pending *p)
{
	PMPI_Grequest_complete(p->request);
}

/*
 * MPICH's Fortran 2008 calls MPI_I... and PMPI_Wait: this library has the request, and does not
 * see the wait. With an extension of MPICH its waits call functions of this library.
 */
#ifdef MPICH_VERSION
static int poll(void *state, MPI_Status *status)
{
	(void)status;
	pending_look(state, 0);
	return MPI_SUCCESS;
}

static int wait_some(int n, void **states, double timeout, MPI_Status *status)
{
	int i;

	(void)timeout, (void)status;
	for (i = 0; i < n; i++)
		pending_wait(states[i]);
	return MPI_SUCCESS;
}

static int start_of_mpi(struct pending *p)
{
	return PMPIX_Grequest_start(query, release, cancel, poll, wait_some, p, &p->request);
}
#else
static int start_of_mpi(struct pending *p)
{
	return PMPI_Grequest_start(query, release, cancel, p, &p->request);
}
#endif

static int refuse(const struct call *c, int err)
{
	struct call copy = *c;
	int code;

	/* Abort: the other ranks wait for this rank. */
	coll_abort(c->coll, (uint32_t)-err);
	copy.err = err;
	code = call_end(&copy);
	PMPI_Comm_call_errhandler(c->comm, code);
	return code;
}

int requests_start(const struct call *c, MPI_Request *request)
{
	struct nonblocking *n = calloc(1, sizeof(*n));
	struct pending *p = &n->p;

	if (!n)
		return refuse(c, -ENOMEM);
	p->call = *c;
	p->tell = tell;
	p->due = MPI_SUCCESS;
	/* The application may free its type before the call is over. */
	n->has_type = c->out.tmp && c->stores && !c->to.types;
	if (n->has_type && !types_keep(c->to.type, &p->call.to.type))
		goto no_type;
	if (start_of_mpi(p))
		goto no_request;
	comms_hold(c->mc);
	pending_insert(p);
	*request = p->request;
	/* The request returns any error. */
	call_start(&p->call);
	return MPI_SUCCESS;

no_request:
	if (n->has_type)
		PMPI_Type_free(&p->call.to.type);
no_type:
	free(n);
	return refuse(c, -ENOMEM);
}
