/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Requests of MPI for nonblocking calls that coll does. */
#ifndef LIBCOLL_MPI_REQUESTS_H
#define LIBCOLL_MPI_REQUESTS_H

#include <mpi.h>

#include "call.h"

/**
 * requests_start() - begin a call, and make a request of MPI for it
 * @c: copied
 *
 * The request is a generalized one. All functions that wait for requests or test them are this
 * library's: they tell MPI when it is over.
 *
 * Return: for the application; its error handler has been called.
 */
int requests_start(const struct call *c, MPI_Request *request);

/** enum requests_state - whose is it, and is it over? */
enum requests_state { REQUESTS_OTHER, REQUESTS_LIVE, REQUESTS_OVER };

/** requests_look() - look at a request. One of ours that is over: MPI knows it */
enum requests_state requests_look(MPI_Request request);

/** requests_wait() - wait for a request, if it is ours */
void requests_wait(MPI_Request request);

/**
 * requests_nap() - sleep a little, or until this request is over
 * @request: that is REQUESTS_LIVE; another one: do not sleep
 * @start: of the wait, as relax_now_ns()
 */
void requests_nap(MPI_Request request, uint64_t start);

#endif
