// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/relax.h"
#include "drive.h"
#include "error.h"
#include "requests.h"

#define BUCKETS		256

/**
 * struct pending - a request of ours that MPI knows
 * @call: what it is for
 * @request: as the application has it
 * @told: MPI knows that it is over
 * @has_type: the type of the results is a duplicate of its own
 */
struct pending {
	struct call call;
	MPI_Request request;
	bool told;
	bool has_type;
	struct pending *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *table[BUCKETS];
static _Atomic size_t nr_pending;

static struct pending **bucket_of(MPI_Request request)
{
	uintptr_t x = (uintptr_t)request;

	return &table[(x ^ x >> 4 ^ x >> 12) % BUCKETS];
}

static struct pending *find(MPI_Request request)
{
	struct pending *p;

	if (!nr_pending)
		return NULL;
	pthread_mutex_lock(&lock);
	for (p = *bucket_of(request); p && p->request != request; p = p->next)
		;
	pthread_mutex_unlock(&lock);
	return p;
}

static void insert(struct pending *p)
{
	struct pending **bucket = bucket_of(p->request);

	pthread_mutex_lock(&lock);
	p->next = *bucket;
	*bucket = p;
	nr_pending++;
	pthread_mutex_unlock(&lock);
}

static void drop(struct pending *p)
{
	struct pending **at = bucket_of(p->request);

	pthread_mutex_lock(&lock);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	nr_pending--;
	pthread_mutex_unlock(&lock);
}

/* What MPI calls for a generalized request. */
static int query(void *state, MPI_Status *status)
{
	const struct pending *p = state;

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return p->call.err ? error_code(p->call.err, count_name(p->call.fn), p->call.mc->coll) :
	       MPI_SUCCESS;
}

static int release(void *state)
{
	struct pending *p = state;

	drop(p);
	if (p->has_type)
		PMPI_Type_free(&p->call.to.type);
	call_end(&p->call);
	comms_put(p->call.mc);
	free(p);
	return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
	(void)state, (void)complete;
	return MPI_SUCCESS;
}

/* Is it over, after @ns at most? Then MPI knows it. */
static bool look(struct pending *p, uint64_t ns)
{
	if (p->told)
		return true;
	if (!call_look(&p->call, ns))
		return false;
	p->told = true;
	PMPI_Grequest_complete(p->request);
	return true;
}

static void wait_for(struct pending *p)
{
	if (p->told)
		return;
	call_wait(&p->call);
	look(p, 0);
}

/*
 * MPICH's Fortran 2008 calls MPI_I... and PMPI_Wait: this library has the request, and does not
 * see the wait. An extension of MPICH calls functions of ours in its waits.
 */
#ifdef MPICH_VERSION
static int poll(void *state, MPI_Status *status)
{
	(void)status;
	look(state, 0);
	return MPI_SUCCESS;
}

static int wait_some(int n, void **states, double timeout, MPI_Status *status)
{
	int i;

	(void)timeout, (void)status;
	for (i = 0; i < n; i++)
		wait_for(states[i]);
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

	/* The others wait for this rank. */
	coll_abort(c->mc->coll, (uint32_t)-err);
	copy.err = err;
	code = call_end(&copy);
	PMPI_Comm_call_errhandler(c->comm, code);
	return code;
}

int requests_start(const struct call *c, MPI_Request *request)
{
	struct pending *p = malloc(sizeof(*p));

	if (!p)
		return refuse(c, -ENOMEM);
	p->call = *c;
	p->told = false;
	/* The application may free its type before the call is over. */
	p->has_type = c->out.tmp && c->stores && !c->to.types;
	if (p->has_type && PMPI_Type_dup(c->to.type, &p->call.to.type))
		goto no_type;
	if (start_of_mpi(p))
		goto no_request;
	comms_hold(c->mc);
	insert(p);
	*request = p->request;
	/* An error is the request's. */
	call_start(&p->call);
	return MPI_SUCCESS;

no_request:
	if (p->has_type)
		PMPI_Type_free(&p->call.to.type);
no_type:
	free(p);
	return refuse(c, -ENOMEM);
}

static void wait_for_each(int n, const MPI_Request *requests)
{
	struct pending *p;
	int i;

	for (i = 0; i < n && nr_pending; i++) {
		p = find(requests[i]);
		if (p)
			wait_for(p);
	}
}

/* Look at all of ours. Return: one that is under way, or NULL. */
static struct pending *look_at_each(int n, const MPI_Request *requests)
{
	struct pending *p, *live = NULL;
	int i;

	for (i = 0; i < n && nr_pending; i++) {
		p = find(requests[i]);
		if (p && !look(p, 0))
			live = p;
	}
	return live;
}

static bool none_is_ours(int n, const MPI_Request *requests)
{
	int i;

	for (i = 0; i < n && nr_pending; i++)
		if (find(requests[i]))
			return false;
	return true;
}

/* For those that wait for any: sleep a little, or until this one is over. */
static void nap(struct pending *p, uint64_t start)
{
	if (p)
		look(p, drive_pause_ns(relax_now_ns() - start));
}

enum requests_state requests_look(MPI_Request request)
{
	struct pending *p = find(request);

	if (!p)
		return REQUESTS_OTHER;
	return look(p, 0) ? REQUESTS_OVER : REQUESTS_LIVE;
}

void requests_wait(MPI_Request request)
{
	wait_for_each(1, &request);
}

void requests_nap(MPI_Request request, uint64_t start)
{
	nap(find(request), start);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	wait_for_each(1, request);
	return PMPI_Wait(request, status);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	wait_for_each(n, requests);
	return PMPI_Waitall(n, requests, statuses);
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	uint64_t start;
	int ret, flag = 0;

	if (none_is_ours(n, requests))
		return PMPI_Waitany(n, requests, index, status);
	start = relax_now_ns();
	for (;;) {
		struct pending *live = look_at_each(n, requests);

		ret = PMPI_Testany(n, requests, index, &flag, status);
		if (ret || flag)
			return ret;
		nap(live, start);
	}
}

int MPI_Waitsome(int n, MPI_Request requests[], int *nr, int indices[], MPI_Status statuses[])
{
	uint64_t start;
	int ret;

	if (none_is_ours(n, requests))
		return PMPI_Waitsome(n, requests, nr, indices, statuses);
	start = relax_now_ns();
	for (;;) {
		struct pending *live = look_at_each(n, requests);

		ret = PMPI_Testsome(n, requests, nr, indices, statuses);
		if (ret || *nr)
			return ret;
		nap(live, start);
	}
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	look_at_each(1, request);
	return PMPI_Test(request, flag, status);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	look_at_each(n, requests);
	return PMPI_Testall(n, requests, flag, statuses);
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	look_at_each(n, requests);
	return PMPI_Testany(n, requests, index, flag, status);
}

int MPI_Testsome(int n, MPI_Request requests[], int *nr, int indices[], MPI_Status statuses[])
{
	look_at_each(n, requests);
	return PMPI_Testsome(n, requests, nr, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	look_at_each(1, &request);
	return PMPI_Request_get_status(request, flag, status);
}
