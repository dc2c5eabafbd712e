// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Messages of the MPI underneath move only while a thread is in one of its functions. Other
 * ranks may wait for such a message of this rank. This is likely at the beginning of a wait, and
 * unlikely later.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "drive.h"

#define SOON_NS		20000
#define SOON_FOR_NS	2000000
#define LATER_NS	200000
#define LATER_FOR_NS	50000000
#define LATE_NS		1000000

/*
 * A request that never completes: a test of it drives the MPI. @lock protects both variables. A
 * thread that finds the lock taken need not wait: another thread drives the MPI already.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Request never;
static bool have_never;

static int query(void *state, MPI_Status *status)
{
	(void)state;
	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	return MPI_SUCCESS;
}

static int release(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
	(void)state, (void)complete;
	return MPI_SUCCESS;
}

void drive_mpi(void)
{
	int flag;

	if (pthread_mutex_trylock(&lock))
		return;
	if (!have_never)
		have_never = !PMPI_Grequest_start(query, release, cancel, NULL, &never);
	if (have_never)
		PMPI_Test(&never, &flag, MPI_STATUS_IGNORE);
	pthread_mutex_unlock(&lock);
}

void drive_end(void)
{
	pthread_mutex_lock(&lock);
	if (have_never) {
		PMPI_Grequest_complete(never);
		PMPI_Wait(&never, MPI_STATUS_IGNORE);
	}
	have_never = false;
	pthread_mutex_unlock(&lock);
}

uint64_t drive_pause_ns(uint64_t waited_ns)
{
	if (waited_ns < SOON_FOR_NS)
		return SOON_NS;
	return waited_ns < LATER_FOR_NS ? LATER_NS : LATE_NS;
}

uint64_t drive_idle(void *arg, uint64_t waited_ns)
{
	(void)arg;
	drive_mpi();
	return drive_pause_ns(waited_ns);
}
