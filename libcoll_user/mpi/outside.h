/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Functions of MPI that this library replaces, and that the application or a tool replaces, too. */
#ifndef LIBCOLL_MPI_OUTSIDE_H
#define LIBCOLL_MPI_OUTSIDE_H

#include <stdbool.h>

/**
 * outside_waits() - does a function of another object wait for requests?
 *
 * A function of the application, or of a tool that is loaded before this library, is called in
 * place of the one of this library, and may call PMPI_Wait() itself. Then a request of coll would
 * not end, and none would start.
 */
bool outside_waits(void);

#endif
