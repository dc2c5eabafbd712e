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

#endif
