/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Progress of the MPI underneath while coll works. */
#ifndef LIBCOLL_MPI_DRIVE_H
#define LIBCOLL_MPI_DRIVE_H

#include <stdint.h>

/** drive_mpi() - let messages of the MPI underneath move on */
void drive_mpi(void);

/** drive_end() - called by MPI_Finalize() */
void drive_end(void);

/** drive_pause_ns() - time to sleep before the next drive_mpi(), after waiting @waited_ns so far */
uint64_t drive_pause_ns(uint64_t waited_ns);

/** drive_idle() - a coll_idle_fn: drive_mpi(), and drive_pause_ns() */
uint64_t drive_idle(void *arg, uint64_t waited_ns);

#endif
