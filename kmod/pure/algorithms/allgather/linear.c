// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear allgather: every participant sends its block to all others.
 *
 *	0 --- 1
 *	| \ / |		each line: a block there and a block back
 *	| / \ |
 *	2 --- 3
 *
 * n - 1 blocks sent, one transfer in a chain, but n - 1 messages out and in at the same
 * time. Each round has another distance, so that not all participants start with the same
 * one.
 */
#include "../algorithms.h"

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, from, dep;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	dep = coll_emit_input(e, me, COLL_STEP_FINAL);
	for (d = 1; d < n; d++) {
		e->round = d - 1;
		from = coll_before(n, me, d);
		coll_emit_send(e, coll_after(n, me, d), me, dep, 0);
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

const struct coll_algorithm coll_allgather_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_ALLGATHER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
