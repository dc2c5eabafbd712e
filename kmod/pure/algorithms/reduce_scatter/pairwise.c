// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pairwise reduce-scatter: in round d send to me + d its block, take mine from me - d
 * and add it; one exchange at a time. n = 4, to whom:
 *
 *	round	0	1	2
 *	0	1	2	3
 *	1	2	3	0
 *	2	3	0	1
 *	3	0	1	2
 *
 * n - 1 blocks sent, n - 1 transfers in a chain, but every block goes straight to its
 * owner (Thakur, Rabenseifner, Gropp 2005, for long vectors). The fold is that of
 * algorithms/allreduce/mesh.c: round the circle, own block last.
 */
#include "../algorithms.h"

static int pairwise_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, to, dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1)
		coll_emit_input(e, 0, COLL_STEP_FINAL);
	for (d = 1; d < n; d++) {
		e->round = d - 1;
		to = coll_after(n, me, d);
		coll_emit_send(e, to, to, coll_emit_input(e, to, 0),
			       d > 1 ? COLL_STEP_FENCE : 0);
		dep = coll_emit_recv_span(e, coll_before(n, me, d), coll_work(me, 1),
					  d == 1 ? COLL_ACT_REDUCE_IN : COLL_ACT_REDUCE, dep,
					  d == n - 1 ? COLL_STEP_FINAL : 0);
	}
	return 0;
}

static u64 pairwise_sent(u32 n, u32 me, u32 root)
{
	return n - 1;
}

static u32 pairwise_latency(u32 n, u32 root)
{
	return n - 1;
}

const struct coll_algorithm coll_reduce_scatter_pairwise = {
	.name = "pairwise",
	.id = COLL_ALG_PAIRWISE,
	.collective = COLL_REDUCE_SCATTER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = pairwise_emit,
	.sent = pairwise_sent,
	.latency = pairwise_latency,
};
