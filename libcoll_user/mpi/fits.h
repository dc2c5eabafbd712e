/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What coll cannot do in a large communicator. */
#ifndef LIBCOLL_MPI_FITS_H
#define LIBCOLL_MPI_FITS_H

#include <stdbool.h>
#include <stdint.h>

#include "count.h"

/**
 * struct fits - the size of a communicator; the same on all ranks
 * @size: ranks in all
 * @most_local: most ranks on one node
 * @nodes: nodes in all
 * @max_steps: steps of one op on one node that each module allows
 */
struct fits {
	uint64_t size;
	uint64_t most_local;
	uint64_t nodes;
	uint64_t max_steps;
};

/**
 * fits_steps() - how many steps one rank has at most
 * @algorithm: name of the algorithm that coll takes; NULL: it may be any
 */
uint64_t fits_steps(enum function fn, uint64_t size, const char *algorithm);

/**
 * fits_call() - does coll have the links, and room for the steps?
 * @users: the operator is one of the application
 * @algorithm: as of fits_steps()
 */
bool fits_call(const struct fits *f, enum function fn, bool users, const char *algorithm);

#endif
