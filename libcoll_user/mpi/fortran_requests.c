// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Fortran's waits and tests, and other functions that take a request. They look at requests of this
 * library as the functions of C do, and leave the rest to the functions underneath, which know
 * statuses of Fortran.
 *
 * For Open MPI these are the names of all interfaces. For MPICH they are those of mpi_f08, whose
 * functions call PMPI functions if no buffer is an argument. The other interfaces of MPICH call MPI
 * functions.
 */
#include <stddef.h>

#include "base/relax.h"
#include "fortran.h"
#include "late.h"
#include "waits.h"

#ifdef OPEN_MPI
#define NAMES(name, ...)	FORTRAN_NAMES(name, __VA_ARGS__)
/* A function that mpi_f08 calls by a third name. */
#define NAMES_ALL(name, ...)							\
	void mpi_##name##_f08_(__VA_ARGS__)					\
		__attribute__((alias("mpi_" #name "_")));			\
	NAMES(name, __VA_ARGS__)
#define UNDERNEATH(name)	pmpi_##name##_
/* Fortran's address of MPI_STATUSES_IGNORE */
#define IGNORED			MPI_F_STATUSES_IGNORE
#else
/* Handles are numbers, in C as in Fortran. */
#define NAMES(name, ...)							\
	void mpi_##name##_f08_(__VA_ARGS__);					\
	void mpi_##name##_f08_(__VA_ARGS__)
#define NAMES_ALL(name, ...)	NAMES(name, __VA_ARGS__)
#define UNDERNEATH(name)	pmpir_##name##_f08_
#define IGNORED			MPI_F08_STATUSES_IGNORE
#endif

/*
 * Programs of Fortran are linked with the library that has these functions. A program of C may load
 * that library later, by dlopen(), with an object of Fortran. Then the weak symbols stay NULL.
 */
#define DECLARE(name, ...)							\
	typedef void name##_fn(__VA_ARGS__, fint *ierr);			\
	static _Atomic(void *) late_##name;					\
	extern name##_fn UNDERNEATH(name) __attribute__((weak))

#define TEXT_OF(symbol)		#symbol
#define TEXT(symbol)		TEXT_OF(symbol)

/* Call the function underneath, from the function that Fortran has called. */
#define UNDER(name, ...)							\
do {										\
	name##_fn *fn_ = UNDERNEATH(name);					\
										\
	if (!fn_)								\
		fn_ = (name##_fn *)late_find(&late_##name, TEXT(UNDERNEATH(name)), \
					     __builtin_return_address(0));	\
	fn_(__VA_ARGS__);							\
} while (0)

DECLARE(wait, fint *request, fint *status);
DECLARE(waitall, fint *n, fint *requests, fint *statuses);
DECLARE(waitany, fint *n, fint *requests, fint *index, fint *status);
DECLARE(waitsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses);
DECLARE(test, fint *request, fint *flag, fint *status);
DECLARE(testall, fint *n, fint *requests, fint *flag, fint *statuses);
DECLARE(testany, fint *n, fint *requests, fint *index, fint *flag, fint *status);
DECLARE(testsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses);
DECLARE(request_get_status, fint *request, fint *flag, fint *status);

static void wait_for_each(int n, const fint *requests)
{
	int i;

	for (i = 0; i < n; i++)
		waits_wait(PMPI_Request_f2c(requests[i]));
}

/* Look at all requests of this library. Return: one of them is under way; it goes to @live. */
static bool look_at_each(int n, const fint *requests, MPI_Request *live)
{
	bool any = false;
	int i;

	for (i = 0; i < n; i++) {
		MPI_Request r = PMPI_Request_f2c(requests[i]);

		if (!waits_look(r))
			continue;
		any = true;
		*live = r;
	}
	return any;
}

static void look(int n, const fint *requests)
{
	MPI_Request live;

	look_at_each(n, requests, &live);
}

static void give(int code, fint *ierr)
{
	if (ierr)
		*ierr = code;
}

/* Report the error of the request at @index, which is over; not positive: no request is over. */
static void end_one(fint err, fint index, const fint *requests, fint *ierr)
{
	if (!err && index > 0)
		err = waits_raise(PMPI_Request_f2c(requests[index - 1]));
	give(err, ierr);
}

/* Indices of Fortran begin with 1. */
static MPI_Request request_of(const struct waits_over *over, int i)
{
	const fint *requests = over->requests;

	return PMPI_Request_f2c(requests[over->indices ? over->indices[i] - 1 : i]);
}

/* A status of Fortran has the integers of a status of C. */
#define INTS_BEFORE(bytes)	((bytes) / sizeof(int))

static void set_status(const struct waits_over *over, int i, int code)
{
	fint *status = (fint *)over->statuses + (size_t)i * INTS_BEFORE(sizeof(MPI_Status));

	status[INTS_BEFORE(offsetof(MPI_Status, MPI_ERROR))] = code;
}

/**
 * end_all() - some requests are over: report their errors
 * @err: result of the function underneath
 * @n: number of requests that are over
 * @indices: their places in @requests, from 1 on; NULL: they are the first ones
 * @statuses: of each
 */
static void end_all(fint err, int n, const fint *indices, const fint *requests, fint *statuses,
		    fint *ierr)
{
	const struct waits_over over = {
		.n = n, .requests = requests, .indices = indices,
		.statuses = (void *)statuses == (void *)IGNORED ? NULL : statuses,
		.request = request_of, .set_error = set_status,
	};

	give(waits_raise_all(err, &over), ierr);
}

NAMES(wait, fint *request, fint *status, fint *ierr)
{
	fint err = MPI_SUCCESS;

	wait_for_each(1, request);
	UNDER(wait, request, status, &err);
	end_one(err, 1, request, ierr);
}

NAMES(waitall, fint *n, fint *requests, fint *statuses, fint *ierr)
{
	fint err = MPI_SUCCESS;

	wait_for_each(*n, requests);
	UNDER(waitall, n, requests, statuses, &err);
	end_all(err, *n, NULL, requests, statuses, ierr);
}

NAMES(waitany, fint *n, fint *requests, fint *index, fint *status, fint *ierr)
{
	uint64_t start = relax_now_ns();
	fint flag = 0, err = MPI_SUCCESS;
	MPI_Request live;

	while (!flag && !err) {
		if (!look_at_each(*n, requests, &live)) {
			UNDER(waitany, n, requests, index, status, &err);
			break;
		}
		UNDER(testany, n, requests, index, &flag, status, &err);
		if (!flag && !err)
			waits_nap(live, start);
	}
	end_one(err, *index, requests, ierr);
}

NAMES(waitsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses, fint *ierr)
{
	uint64_t start = relax_now_ns();
	fint err = MPI_SUCCESS;
	MPI_Request live;

	for (*nr = 0; !*nr && !err; ) {
		if (!look_at_each(*n, requests, &live)) {
			UNDER(waitsome, n, requests, nr, indices, statuses, &err);
			break;
		}
		UNDER(testsome, n, requests, nr, indices, statuses, &err);
		if (!*nr && !err)
			waits_nap(live, start);
	}
	end_all(err, *nr, indices, requests, statuses, ierr);
}

NAMES_ALL(test, fint *request, fint *flag, fint *status, fint *ierr)
{
	fint err = MPI_SUCCESS;

	look(1, request);
	UNDER(test, request, flag, status, &err);
	end_one(err, *flag ? 1 : 0, request, ierr);
}

NAMES_ALL(testall, fint *n, fint *requests, fint *flag, fint *statuses, fint *ierr)
{
	fint err = MPI_SUCCESS;

	look(*n, requests);
	UNDER(testall, n, requests, flag, statuses, &err);
	end_all(err, *flag ? *n : 0, NULL, requests, statuses, ierr);
}

NAMES_ALL(testany, fint *n, fint *requests, fint *index, fint *flag, fint *status, fint *ierr)
{
	fint err = MPI_SUCCESS;

	look(*n, requests);
	UNDER(testany, n, requests, index, flag, status, &err);
	end_one(err, *flag ? *index : 0, requests, ierr);
}

NAMES_ALL(testsome, fint *n, fint *requests, fint *nr, fint *indices, fint *statuses, fint *ierr)
{
	fint err = MPI_SUCCESS;

	look(*n, requests);
	UNDER(testsome, n, requests, nr, indices, statuses, &err);
	end_all(err, *nr, indices, requests, statuses, ierr);
}

NAMES_ALL(request_get_status, fint *request, fint *flag, fint *status, fint *ierr)
{
	look(1, request);
	UNDER(request_get_status, request, flag, status, ierr);
}

NAMES(start, fint *request, fint *ierr)
{
	MPI_Request r = PMPI_Request_f2c(*request);
	int ret = MPI_Start(&r);

	if (!ret)
		*request = PMPI_Request_c2f(r);
	give(ret, ierr);
}

NAMES(startall, fint *n, fint *requests, fint *ierr)
{
	int i, ret = MPI_SUCCESS;

	for (i = 0; i < *n && !ret; i++) {
		MPI_Request r = PMPI_Request_f2c(requests[i]);

		ret = MPI_Start(&r);
		if (!ret)
			requests[i] = PMPI_Request_c2f(r);
	}
	give(ret, ierr);
}

NAMES(request_free, fint *request, fint *ierr)
{
	MPI_Request r = PMPI_Request_f2c(*request);
	int ret = MPI_Request_free(&r);

	if (!ret)
		*request = PMPI_Request_c2f(MPI_REQUEST_NULL);
	give(ret, ierr);
}

NAMES(cancel, fint *request, fint *ierr)
{
	MPI_Request r = PMPI_Request_f2c(*request);

	give(MPI_Cancel(&r), ierr);
}
