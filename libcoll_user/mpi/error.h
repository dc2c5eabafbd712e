/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Errors of coll as errors of MPI. */
#ifndef LIBCOLL_MPI_ERROR_H
#define LIBCOLL_MPI_ERROR_H

#include <coll/coll.h>

/**
 * error_code() - a code of MPI with the text of an error of coll
 * @err: negative errno
 * @name: of the collective
 * @coll: communicator whose cause of failure goes into the text; NULL: none
 */
int error_code(int err, const char *name, coll_comm_t *coll);

#endif
