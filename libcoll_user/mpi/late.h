/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Functions of libraries that may be loaded later than this one. */
#ifndef LIBCOLL_MPI_LATE_H
#define LIBCOLL_MPI_LATE_H

/**
 * late_find() - find a function in the libraries that are loaded now
 * @kept: the function, once it has been found; NULL before
 * @name: of the function
 * @caller: an address in the object that wants it
 *
 * Return: the function. Its library stays. If there is none, the job ends.
 */
void *late_find(_Atomic(void *) *kept, const char *name, const void *caller);

#endif
