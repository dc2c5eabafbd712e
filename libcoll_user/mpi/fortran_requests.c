// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Fortran's waits and tests, under the names of Open MPI. They look at requests of ours as those of
 * C do, and leave the rest to the functions underneath, which know statuses of Fortran.
 */
#include "base/relax.h"
#include "fortran.h"
#include "requests.h"

#ifdef OPEN_MPI

/* In the library that programs of Fortran have; others do not come here. */
#define UNDERNEATH(name, ...)	\
	extern void pmpi_##name##_(__VA_ARGS__, fint *ierr) __attribute__((weak))

UNDERNEATH(wait, fint *request, fint *status);
UNDERNEATH(waitall, fint *n, fint *requests, fint *statuses);
UNDERNEATH(waitany, fint *n, fint *requests, fint *index, fint *status);
UNDERNEATH(waitsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses);
UNDERNEATH(test, fint *request, fint *flag, fint *status);
UNDERNEATH(testall, fint *n, fint *requests, fint *flag, fint *statuses);
UNDERNEATH(testany, fint *n, fint *requests, fint *index, fint *flag, fint *status);
UNDERNEATH(testsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses);
UNDERNEATH(request_get_status, fint *request, fint *flag, fint *status);

static void wait_for_each(int n, const fint *requests)
{
	int i;

	for (i = 0; i < n; i++)
		requests_wait(PMPI_Request_f2c(requests[i]));
}

/* Look at all of ours. Return: there are any; @live: one that is under way, or null. */
static bool look_at_each(int n, const fint *requests, MPI_Request *live)
{
	bool any = false;
	int i;

	*live = MPI_REQUEST_NULL;
	for (i = 0; i < n; i++) {
		MPI_Request r = PMPI_Request_f2c(requests[i]);
		enum requests_state state = requests_look(r);

		any |= state != REQUESTS_OTHER;
		if (state == REQUESTS_LIVE)
			*live = r;
	}
	return any;
}

static void look(int n, const fint *requests)
{
	MPI_Request live;

	look_at_each(n, requests, &live);
}

FORTRAN_NAMES(wait, fint *request, fint *status, fint *ierr)
{
	wait_for_each(1, request);
	pmpi_wait_(request, status, ierr);
}

FORTRAN_NAMES(waitall, fint *n, fint *requests, fint *statuses, fint *ierr)
{
	wait_for_each(*n, requests);
	pmpi_waitall_(n, requests, statuses, ierr);
}

FORTRAN_NAMES(waitany, fint *n, fint *requests, fint *index, fint *status, fint *ierr)
{
	uint64_t start = relax_now_ns();
	fint flag = 0, err = MPI_SUCCESS;
	MPI_Request live;

	if (!look_at_each(*n, requests, &live)) {
		pmpi_waitany_(n, requests, index, status, ierr);
		return;
	}
	for (;;) {
		pmpi_testany_(n, requests, index, &flag, status, &err);
		if (err || flag)
			break;
		requests_nap(live, start);
		look_at_each(*n, requests, &live);
	}
	if (ierr)
		*ierr = err;
}

FORTRAN_NAMES(waitsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses,
	      fint *ierr)
{
	uint64_t start = relax_now_ns();
	fint err = MPI_SUCCESS;
	MPI_Request live;

	if (!look_at_each(*n, requests, &live)) {
		pmpi_waitsome_(n, requests, nr, indices, statuses, ierr);
		return;
	}
	for (;;) {
		pmpi_testsome_(n, requests, nr, indices, statuses, &err);
		if (err || *nr)
			break;
		requests_nap(live, start);
		look_at_each(*n, requests, &live);
	}
	if (ierr)
		*ierr = err;
}

FORTRAN_NAMES(test, fint *request, fint *flag, fint *status, fint *ierr)
{
	look(1, request);
	pmpi_test_(request, flag, status, ierr);
}

FORTRAN_NAMES(testall, fint *n, fint *requests, fint *flag, fint *statuses, fint *ierr)
{
	look(*n, requests);
	pmpi_testall_(n, requests, flag, statuses, ierr);
}

FORTRAN_NAMES(testany, fint *n, fint *requests, fint *index, fint *flag, fint *status, fint *ierr)
{
	look(*n, requests);
	pmpi_testany_(n, requests, index, flag, status, ierr);
}

FORTRAN_NAMES(testsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses,
	      fint *ierr)
{
	look(*n, requests);
	pmpi_testsome_(n, requests, nr, indices, statuses, ierr);
}

FORTRAN_NAMES(request_get_status, fint *request, fint *flag, fint *status, fint *ierr)
{
	look(1, request);
	pmpi_request_get_status_(request, flag, status, ierr);
}

#endif
