// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "comm/topology.h"
#include "fits.h"

/* In these collectives each rank gives something to each other rank. */
static bool is_full(enum function fn)
{
	switch (fn) {
	case FN_Allgather: case FN_Allgatherv:
	case FN_Reduce_scatter: case FN_Reduce_scatter_block:
	case FN_Alltoall: case FN_Alltoallv: case FN_Alltoallw:
		return true;
	default:
		return false;
	}
}

/* These collectives have the links that they need with any number of nodes. */
static bool is_sparse(enum function fn)
{
	return fn == FN_Barrier || fn == FN_Bcast || fn == FN_Reduce || fn == FN_Allreduce;
}

static uint64_t log2_ceil(uint64_t n)
{
	uint64_t log = 0;

	while (1ULL << log < n)
		log++;
	return log;
}

uint64_t fits_steps(enum function fn, uint64_t size, const char *algorithm)
{
	bool bruck = !algorithm || !strcmp(algorithm, "bruck");

	if (!is_full(fn))
		return 2 * (size + log2_ceil(size));
	/* Each block that passes through another rank is a step. */
	if (fn == FN_Alltoall)
		return size * (bruck ? 2 * log2_ceil(size) + 2 : 2);
	return size * (fn == FN_Alltoallv || fn == FN_Alltoallw ? 2 : 4);
}

bool fits_call(const struct fits *f, enum function fn, bool users, const char *algorithm)
{
	/* With an operator of the application every call is done by allgather and alltoallv. */
	if (users)
		return fits_call(f, FN_Allgather, false, NULL) &&
		       fits_call(f, FN_Alltoallv, false, NULL);
	if (f->nodes > TOPOLOGY_FULL && !is_sparse(fn))
		return false;
	return !is_full(fn) || fits_steps(fn, f->size, algorithm) <= f->max_steps / f->most_local;
}
