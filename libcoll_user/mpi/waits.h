/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* How functions of MPI that wait for requests or test them handle requests of this library. */
#ifndef LIBCOLL_MPI_WAITS_H
#define LIBCOLL_MPI_WAITS_H

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

/** waits_look() - is it a request of this library, and under way? If it is over, tell MPI */
bool waits_look(MPI_Request request);

/** waits_wait() - wait for a request, if it is one of this library */
void waits_wait(MPI_Request request);

/**
 * waits_nap() - sleep a little, or until this request is over
 * @request: a request of this library, under way
 * @start: of the wait, as relax_now_ns()
 */
void waits_nap(MPI_Request request, uint64_t start);

/**
 * waits_raise() - MPI has told the application that this request is over
 *
 * Return: the error of a persistent request, the first time; its error handler has been called.
 */
int waits_raise(MPI_Request request);

/**
 * struct waits_over - requests that are over, in an array of C or of Fortran
 * @n: how many
 * @requests: an array that has them
 * @indices: their places in @requests; NULL: they are the first ones
 * @statuses: of each of the @n; NULL: ignored
 * @request: the handle of one
 * @set_error: write the error of one into its status; @statuses is not NULL
 */
struct waits_over {
	int n;
	const void *requests;
	const int *indices;
	void *statuses;
	MPI_Request (*request)(const struct waits_over *over, int i);
	void (*set_error)(const struct waits_over *over, int i, int code);
};

/**
 * waits_raise_all() - MPI has told the application that these requests are over
 * @ret: result of MPI for them
 *
 * Writes errors of persistent requests into the statuses. Return: the result for the application;
 * the error handler of the first error has been called.
 */
int waits_raise_all(int ret, const struct waits_over *over);

#endif
