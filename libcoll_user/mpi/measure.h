/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Measures from which size on coll is not slower than the MPI underneath. */
#ifndef LIBCOLL_MPI_MEASURE_H
#define LIBCOLL_MPI_MEASURE_H

#include <mpi.h>

#include <coll/coll.h>

/**
 * measure_least() - time allreduces of coll and of the MPI underneath
 * @comm: of MPI
 * @coll: of the same ranks
 *
 * @least: set to bytes from which on coll is not slower, the same number on all ranks
 *
 * A collective of both. Return: false if one of coll has failed, on all ranks.
 */
bool measure_least(MPI_Comm comm, coll_comm_t *coll, uint64_t *least);

#endif
