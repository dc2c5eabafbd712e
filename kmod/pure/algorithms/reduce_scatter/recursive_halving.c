// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Recursive-halving reduce-scatter: exchange halves with the partner half the groups
 * away, then halves of what is left, ...; the first half of algorithms/allreduce/rabenseifner.c,
 * with blocks of participants instead of equal chunks. n = 6, the groups (0 1) (2 3) (4)
 * (5) of topology/hypercube.h, blocks sent to whom:
 *
 *	round	0	   1		2	    3
 *	0		   4 5 > 4	2, 3 > 2    1 > 1
 *	1	0-5 > 0
 *	2		   4 5 > 5	0, 1 > 0    3 > 3
 *	3	0-5 > 2
 *	4		   0-3 > 0	5 > 5
 *	5		   0-3 > 2	4 > 4
 *
 * log2 n transfers and n - 1 blocks sent where n is a power of two; else up to two transfers more
 * (coll_core_latency()), and the second of a group sends the whole vector (Thakur, Rabenseifner,
 * Gropp 2005). The fold is not in the order of participants.
 */
#include "../../topology/hypercube.h"

static int recursive_halving_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}
	c = coll_core_at(n, me, 0, 2, n);
	coll_emit_halving(e, &c, me);
	e->round = c.levels + 1;
	if (me != c.first)
		coll_emit_recv(e, c.first, me, COLL_ACT_COPY, COLL_STEP_FINAL);
	else if (c.size > 1)
		coll_emit_send(e, me + 1, me + 1, COLL_DEP_NONE, COLL_STEP_FENCE);
	return 0;
}

static u64 recursive_halving_sent(u32 n, u32 me, u32 root)
{
	struct coll_core c = coll_core_at(n, me, 0, 2, n);

	return coll_halving_sent(&c) + (me == c.first && c.size > 1);
}

static u32 recursive_halving_latency(u32 n, u32 root)
{
	struct coll_core c = coll_core_at(n, 0, 0, 2, n);

	return coll_core_latency(&c);
}

const struct coll_algorithm coll_reduce_scatter_recursive_halving = {
	.name = "recursive_halving",
	.id = COLL_ALG_RECURSIVE_HALVING,
	.collective = COLL_REDUCE_SCATTER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = recursive_halving_emit,
	.sent = recursive_halving_sent,
	.latency = recursive_halving_latency,
};
