/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Buffers that the kernel does not take: a copy takes their place. */
#ifndef LIBCOLL_MPI_ASIDE_H
#define LIBCOLL_MPI_ASIDE_H

#include <stdbool.h>

#include "layout.h"

/**
 * aside_begin() - put a copy into the place of a buffer of the application
 * @b: without a copy so far
 * @n: entries of its arrays, if it has any
 * @filled: its bytes are input
 *
 * Return: 0, or -ENOMEM, and nothing has changed.
 */
int aside_begin(struct bytes *b, int n, bool filled);

/** aside_store() - bring results from the copy to the buffer */
void aside_store(const struct bytes *b, int n);

#endif
