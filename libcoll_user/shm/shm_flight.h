/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Nonblocking collectives in shared memory. */
#ifndef LIBCOLL_SHM_FLIGHT_H
#define LIBCOLL_SHM_FLIGHT_H

#include <coll/coll.h>

/* From now on nonblocking collectives of @comm may be done in its shared memory, if it has one. */
void shm_flight_allow(coll_comm_t *comm);

#endif
