/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Errors of coll as errors of MPI. */
#ifndef LIBCOLL_MPI_ERROR_H
#define LIBCOLL_MPI_ERROR_H

#include <coll/coll.h>

/**
 * error_code() - a code of MPI whose text says what coll said
 * @err: negative errno
 * @name: of the collective
 * @coll: what ended it is in the text; NULL: nothing
 */
int error_code(int err, const char *name, coll_comm_t *coll);

#endif
