/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Is this process a forked child of the one that made an object? A child has a copy of the object
 * and shares its descriptors, but has no threads of the parent, not all of its memory, and no right
 * to use its communicators.
 */
#ifndef LIBCOLL_FORKS_H
#define LIBCOLL_FORKS_H

#include <stdint.h>

/** forks_watch() - count forks from now on. Return: 0 or -ENOMEM. */
int forks_watch(void);

/** forks_count() - the number of forks so far between the first forks_watch() and this process */
uint32_t forks_count(void);

#endif
