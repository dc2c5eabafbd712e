/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Persistent requests: made once, and started any number of times. */
#ifndef LIBCOLL_MPI_PERSISTENT_H
#define LIBCOLL_MPI_PERSISTENT_H

#include <mpi.h>

#include "call.h"

/*
 * PERSISTENT_NAME(MPI, Bcast, ) is MPI_Bcast_init, and with _c it is MPI_Bcast_init_c. MPI has them
 * since 4.0. Before that Open MPI has MPIX_Bcast_init as an extension. Not defined: the MPI has no
 * persistent collectives.
 */
#if MPI_VERSION >= 4
#define PERSISTENT_NAME(before, name, suffix)	before##_##name##_init##suffix
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT_NAME(before, name, suffix)	before##X_##name##_init##suffix
#endif
#endif

/**
 * struct arguments - what MPI_X_init was called with; each collective has some of them
 * @wide: arrays of numbers are those of functions with _c
 */
struct arguments {
	bool wide;
	void *buf, *recv;
	const void *send;
	int64_t count, scount, rcount;
	const void *counts, *scounts, *rcounts;
	const void *displs, *sdispls, *rdispls;
	MPI_Datatype type, stype, rtype;
	const MPI_Datatype *stypes, *rtypes;
	MPI_Op op;
	int root;
};

/** typedef again_fn - fill in a call by saved arguments, as fill_X() */
typedef enum reason again_fn(struct call *c, const struct arguments *saved);

/**
 * persistent_init() - make a request, if coll does the call
 * @c: room for it
 * @saved: copied, and types that the application may free are duplicated
 * @request: result
 * @ret: result, if it is TAKEN; the error handler has been called
 *
 * All ranks get the same answer, and it holds for all starts.
 */
enum reason persistent_init(struct call *c, enum function fn, again_fn *again,
			    const struct arguments *saved, MPI_Comm comm, MPI_Request *request,
			    int *ret);

/** persistent_poll() - look at requests that were freed while they were under way */
void persistent_poll(void);

/** persistent_finish() - wait for requests that were freed; called by MPI_Finalize() */
void persistent_finish(void);

/** persistent_end() - free the private communicator, when no request is started any more */
void persistent_end(void);

#endif
