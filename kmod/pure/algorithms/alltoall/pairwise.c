// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pairwise alltoall: in round d send to me + d and receive from me - d, one exchange at a
 * time. n = 4, to whom:
 *
 *	round	0	1	2
 *	0	1	2	3
 *	1	2	3	0
 *	2	3	0	1
 *	3	0	1	2
 *
 * n - 1 blocks sent in n - 1 transfers one after the other: no participant receives from
 * two others at the same time. For long blocks (Thakur, Rabenseifner, Gropp 2005).
 */
#include "../algorithms.h"

static int pairwise_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, to, from;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	coll_emit_input(e, me, COLL_STEP_FINAL);
	for (d = 1; d < n; d++) {
		e->round = d - 1;
		to = coll_after(n, me, d);
		from = coll_before(n, me, d);
		coll_emit_send_span(e, to, coll_input(to, 1), COLL_DEP_NONE, COLL_STEP_FENCE);
		coll_emit_recv(e, from, from, COLL_ACT_COPY, COLL_STEP_FINAL);
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

const struct coll_algorithm coll_alltoall_pairwise = {
	.name = "pairwise",
	.id = COLL_ALG_PAIRWISE,
	.collective = COLL_ALLTOALL,
	.flags = COLL_ALG_RANKS | COLL_ALG_INPUT | COLL_ALG_DIRECT,
	.chunks = coll_n_chunks,
	.emit = pairwise_emit,
	.sent = pairwise_sent,
	.latency = pairwise_latency,
};
