/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Requests of this library, found by their handles of MPI. */
#ifndef LIBCOLL_MPI_PENDING_H
#define LIBCOLL_MPI_PENDING_H

#include <mpi.h>

#include <stdbool.h>

#include "call.h"

/**
 * struct pending - a request of this library
 * @call: the call that it is for
 * @request: handle that the application has
 * @tell: tells MPI that the call is over
 * @told: @tell has been called; also true if a persistent request has not been started
 * @looking: a thread looks at @call, or calls @tell. Others must not: several threads may ask for the
 *	state of one request
 * @persistent: else it is for one call
 * @due: error of a persistent request that no wait has returned yet; MPI has the errors of others
 * @next: in the same bucket of a table
 */
struct pending {
	struct call call;
	MPI_Request request;
	void (*tell)(struct pending *p);
	_Atomic bool told;
	_Atomic bool looking;
	bool persistent;
	int due;
	struct pending *next;
};

/** pending_find() - the request with this handle; NULL: it is none of this library */
struct pending *pending_find(MPI_Request request);

/** pending_insert() - it can be found from now on */
void pending_insert(struct pending *p);

/** pending_drop() - it cannot be found any more */
void pending_drop(struct pending *p);

/** pending_look() - is a request over, after @ns at most? Then MPI knows it */
bool pending_look(struct pending *p, uint64_t ns);

/** pending_wait() - wait until a request is over; the MPI underneath makes progress meanwhile */
void pending_wait(struct pending *p);

/** pending_set_due() - the next wait that finds it over returns this error; or MPI_SUCCESS */
void pending_set_due(struct pending *p, int code);

/** pending_any_due() - does any request have an error that is due? */
bool pending_any_due(void);

/** pending_raise() - call the error handler of its communicator */
void pending_raise(const struct pending *p, int code);

#endif
