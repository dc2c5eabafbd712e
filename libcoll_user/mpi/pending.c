// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <pthread.h>
#include <stdatomic.h>

#include "base/relax.h"
#include "drive.h"
#include "pending.h"

#define BUCKETS		256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *table[BUCKETS];
static _Atomic size_t nr_pending, nr_due;

static struct pending **bucket_of(MPI_Request request)
{
	uintptr_t x = (uintptr_t)request;

	return &table[(x ^ x >> 4 ^ x >> 12) % BUCKETS];
}

struct pending *pending_find(MPI_Request request)
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

void pending_insert(struct pending *p)
{
	struct pending **bucket = bucket_of(p->request);

	pthread_mutex_lock(&lock);
	p->next = *bucket;
	*bucket = p;
	nr_pending++;
	pthread_mutex_unlock(&lock);
}

void pending_drop(struct pending *p)
{
	struct pending **at = bucket_of(p->request);

	pthread_mutex_lock(&lock);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	nr_pending--;
	pthread_mutex_unlock(&lock);
}

/* No other thread looks. */
static bool look(struct pending *p, uint64_t ns)
{
	if (p->told)
		return true;
	if (!call_look(&p->call, ns))
		return false;
	p->told = true;
	p->tell(p);
	return true;
}

bool pending_look(struct pending *p, uint64_t ns)
{
	bool over;

	if (p->told)
		return true;
	if (atomic_exchange(&p->looking, true)) {
		if (ns) {
			relax_sleep(ns);
			drive_mpi();
		}
		return false;
	}
	over = look(p, ns);
	p->looking = false;
	return over;
}

void pending_wait(struct pending *p)
{
	uint64_t start, waited = 0;

	if (p->told)
		return;
	start = relax_now_ns();
	while (!pending_look(p, drive_pause_ns(waited)))
		waited = relax_now_ns() - start;
}

void pending_set_due(struct pending *p, int code)
{
	if (p->due != MPI_SUCCESS)
		nr_due--;
	p->due = code;
	if (code != MPI_SUCCESS)
		nr_due++;
}

bool pending_any_due(void)
{
	return nr_due;
}

void pending_raise(const struct pending *p, int code)
{
	/* A persistent request may outlive the handle of its communicator. */
	PMPI_Comm_call_errhandler(p->call.mc->freed ? MPI_COMM_SELF : p->call.comm, code);
}
