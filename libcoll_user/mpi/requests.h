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
 * library's (waits.h): they tell MPI when the request is over.
 *
 * Return: for the application; its error handler has been called.
 */
int requests_start(const struct call *c, MPI_Request *request);

#endif
