/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A communicator of coll for each communicator of MPI that uses one. */
#ifndef LIBCOLL_MPI_COMMS_H
#define LIBCOLL_MPI_COMMS_H

#include <mpi.h>

#include <coll/coll.h>

#include "count.h"
#include "fits.h"
#include "lanes.h"

/**
 * struct mpi_comm - state that belongs to a communicator of MPI
 * @coll: communicator of the same ranks in the same order; NULL: @why tells the reason
 * @why: TAKEN: @coll can be used
 * @rank: of this process
 * @size: ranks in all
 * @refs: references of the communicator of MPI, of calls under way, and of persistent requests
 * @freed: the application has freed the communicator of MPI
 * @fits: what @coll can do
 * @outside: a rank has other functions that wait for requests: coll does blocking calls only
 * @no_wait: flags of commands for which the call does not wait
 * @least: calls of fewer bytes go to the MPI underneath; the same on all ranks
 * @lanes: for persistent requests
 * @next: in a list of all of them
 */
struct mpi_comm {
	coll_comm_t *coll;
	enum reason why;
	int rank, size;
	int refs;
	bool freed;
	struct fits fits;
	bool outside;
	uint32_t no_wait;
	uint64_t least;
	struct lanes lanes;
	struct mpi_comm *next, **prev;
};

/**
 * comms_get() - the state that belongs to a communicator
 * @make: make it if there is none. This is a collective of @comm: all ranks are in the
 *	same blocking collective
 *
 * Return: NULL: there is none, and @make is not set.
 */
struct mpi_comm *comms_get(MPI_Comm comm, bool make);

/** comms_hold() - a call is under way, or there is a persistent request */
void comms_hold(struct mpi_comm *mc);

/** comms_put() - drop such a reference; the last one ends the communicator of coll */
void comms_put(struct mpi_comm *mc);

/** comms_end_all() - end all communicators of coll, in MPI_Finalize() */
void comms_end_all(void);

#endif
