// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The registry. "Hierarchical" is none of its own: where participants are nodes, a
 * node's inputs are folded in one pass and its outputs written in one, and any
 * algorithm below is the part between nodes.
 */
#include "algorithms.h"
#include "collective.h"

/* Of several for one collective, the first is what COLL_ALG_AUTO means. */
static const struct coll_algorithm *const registry[] = {
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
	&coll_broadcast_binomial,
	&coll_broadcast_linear,
	&coll_broadcast_knomial,
	&coll_broadcast_chain,
	&coll_broadcast_scatter_allgather,
	&coll_broadcast_double_tree,
	&coll_reduce_binomial,
	&coll_reduce_linear,
	&coll_reduce_chain,
	&coll_reduce_tree,
	&coll_reduce_rabenseifner,
	&coll_allgather_ring,
	&coll_allgather_linear,
	&coll_allgather_bruck,
	&coll_allgather_recursive_doubling,
	&coll_reduce_scatter_ring,
	&coll_reduce_scatter_linear,
	&coll_reduce_scatter_pairwise,
	&coll_reduce_scatter_recursive_halving,
	&coll_alltoall_linear,
	&coll_alltoall_pairwise,
	&coll_alltoall_bruck,
	&coll_gather_binomial,
	&coll_gather_linear,
	&coll_scatter_binomial,
	&coll_scatter_linear,
	&coll_scan_linear,
	&coll_scan_recursive_doubling,
	&coll_exscan_linear,
	&coll_exscan_recursive_doubling,
	&coll_barrier_dissemination,
	&coll_barrier_tree,
};

const struct coll_algorithm *coll_algorithm_at(u32 i)
{
	return i < sizeof(registry) / sizeof(registry[0]) ? registry[i] : NULL;
}

const struct coll_algorithm *coll_algorithm_find(u32 collective, u32 id)
{
	u32 base = coll_plain_collective(collective), i;
	bool equal = base == collective && collective != COLL_REDUCE_SCATTER;
	const struct coll_algorithm *a;

	id &= COLL_ALG_ID_MASK;
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		if (a->collective == base && (id == COLL_ALG_AUTO || a->id == id) &&
		    (equal || !(a->flags & COLL_ALG_EQUAL)))
			return a;
	}
	return NULL;
}
