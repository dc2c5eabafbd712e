// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear alltoall: every participant sends all others their blocks, all at once.
 *
 *	0 --- 1
 *	| \ / |		each line: a block there and a block back
 *	| / \ |
 *	2 --- 3
 *
 * n - 1 blocks sent, one transfer in a chain; n - 1 messages in flight each way. It
 * starts with the next neighbour, so that not all go for the same one first (the basic
 * algorithm of MPI libraries for middle sizes; Thakur, Rabenseifner, Gropp 2005).
 */
#include "../algorithms.h"

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, to, from;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	coll_emit_input(e, me, COLL_STEP_FINAL);
	for (d = 1; d < n; d++) {
		e->round = d - 1;
		to = coll_after(n, me, d);
		from = coll_before(n, me, d);
		coll_emit_send_span(e, to, coll_input(to, 1), COLL_DEP_NONE, 0);
		coll_emit_recv(e, from, from, COLL_ACT_COPY, COLL_STEP_FINAL);
	}
	return 0;
}

static u64 linear_sent(u32 n, u32 me, u32 root)
{
	return n - 1;
}

static u32 linear_latency(u32 n, u32 root)
{
	return n > 1;
}

const struct coll_algorithm coll_alltoall_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_ALLTOALL,
	.flags = COLL_ALG_RANKS | COLL_ALG_INPUT | COLL_ALG_DIRECT,
	.chunks = coll_n_chunks,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
