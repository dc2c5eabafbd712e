// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The registry. There is no "hierarchical" algorithm: where participants are nodes, a node's
 * inputs are folded in one pass and its outputs written in one, and any algorithm below is the
 * part between nodes.
 */
#include "../collective.h"
#include "algorithms.h"
#include "table.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* COLL_ALG_AUTO means the first algorithm of a collective. */
static const struct coll_algorithm *const allreduces[] = {
	&coll_allreduce_ring,
	&coll_allreduce_mesh_full,
	&coll_allreduce_mesh,
	&coll_allreduce_root,
	&coll_allreduce_tree,
	&coll_allreduce_double_tree,
	&coll_allreduce_ring_naive,
	&coll_allreduce_chain,
	&coll_allreduce_recursive_doubling,
	&coll_allreduce_rabenseifner,
	&coll_allreduce_knomial,
};

static const struct coll_algorithm *const broadcasts[] = {
	&coll_broadcast_binomial,
	&coll_broadcast_linear,
	&coll_broadcast_knomial,
	&coll_broadcast_chain,
	&coll_broadcast_scatter_allgather,
	&coll_broadcast_double_tree,
};

static const struct coll_algorithm *const reduces[] = {
	&coll_reduce_binomial,
	&coll_reduce_linear,
	&coll_reduce_chain,
	&coll_reduce_tree,
	&coll_reduce_rabenseifner,
};

static const struct coll_algorithm *const allgathers[] = {
	&coll_allgather_ring,
	&coll_allgather_linear,
	&coll_allgather_bruck,
	&coll_allgather_recursive_doubling,
};

static const struct coll_algorithm *const reduce_scatters[] = {
	&coll_reduce_scatter_ring,
	&coll_reduce_scatter_linear,
	&coll_reduce_scatter_pairwise,
	&coll_reduce_scatter_recursive_halving,
};

static const struct coll_algorithm *const alltoalls[] = {
	&coll_alltoall_linear,
	&coll_alltoall_pairwise,
	&coll_alltoall_bruck,
};

static const struct coll_algorithm *const gathers[] = {
	&coll_gather_binomial,
	&coll_gather_linear,
};

static const struct coll_algorithm *const scatters[] = {
	&coll_scatter_binomial,
	&coll_scatter_linear,
};

static const struct coll_algorithm *const scans[] = {
	&coll_scan_linear,
	&coll_scan_recursive_doubling,
};

static const struct coll_algorithm *const exscans[] = {
	&coll_exscan_linear,
	&coll_exscan_recursive_doubling,
};

static const struct coll_algorithm *const barriers[] = {
	&coll_barrier_dissemination,
	&coll_barrier_tree,
};

/* The algorithms of each collective. A v-form has those of the collective without the v. */
static const struct coll_registry {
	u32 collective;
	u32 nr;
	const struct coll_algorithm *const *algs;
} registry[] = {
	{ COLL_ALLREDUCE, COUNT(allreduces), allreduces },
	{ COLL_BROADCAST, COUNT(broadcasts), broadcasts },
	{ COLL_REDUCE, COUNT(reduces), reduces },
	{ COLL_ALLGATHER, COUNT(allgathers), allgathers },
	{ COLL_REDUCE_SCATTER, COUNT(reduce_scatters), reduce_scatters },
	{ COLL_ALLTOALL, COUNT(alltoalls), alltoalls },
	{ COLL_GATHER, COUNT(gathers), gathers },
	{ COLL_SCATTER, COUNT(scatters), scatters },
	{ COLL_SCAN, COUNT(scans), scans },
	{ COLL_EXSCAN, COUNT(exscans), exscans },
	{ COLL_BARRIER, COUNT(barriers), barriers },
};

const struct coll_algorithm *coll_algorithm_at(u32 i)
{
	u32 k;

	for (k = 0; k < COUNT(registry); k++) {
		if (i < registry[k].nr)
			return registry[k].algs[i];
		i -= registry[k].nr;
	}
	return NULL;
}

const struct coll_algorithm *coll_algorithm_of(u32 collective, u32 i)
{
	u32 base = coll_plain_collective(collective), k;

	for (k = 0; k < COUNT(registry); k++)
		if (registry[k].collective == base)
			return i < registry[k].nr ? registry[k].algs[i] : NULL;
	return NULL;
}

const struct coll_algorithm *coll_algorithm_find(u32 collective, u32 id)
{
	bool equal = coll_plain_collective(collective) == collective &&
		     collective != COLL_REDUCE_SCATTER;
	const struct coll_algorithm *a;
	u32 i;

	id &= COLL_ALG_ID_MASK;
	for (i = 0; (a = coll_algorithm_of(collective, i)); i++) {
		if ((id == COLL_ALG_AUTO || a->id == id) &&
		    (equal || !(a->flags & COLL_ALG_EQUAL)))
			return a;
	}
	return NULL;
}
