// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear scatter: the root sends every participant its block.
 *
 *	1   2   3
 *	^   ^	^
 *	 \  |  /
 *	    0
 *
 * One transfer; the root sends n - 1 blocks, each of them once.
 */
#include "../algorithms.h"

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, to;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	e->round = 0;
	if (me != root) {
		coll_emit_recv(e, root, me, COLL_ACT_COPY, COLL_STEP_FINAL);
		return 0;
	}
	coll_emit_input(e, me, COLL_STEP_FINAL);
	for (d = 1; d < n; d++) {
		to = coll_after(n, me, d);
		coll_emit_send_span(e, to, coll_input(to, 1), COLL_DEP_NONE, 0);
	}
	return 0;
}

static u64 linear_sent(u32 n, u32 me, u32 root)
{
	return me == root ? n - 1 : 0;
}

static u32 linear_latency(u32 n, u32 root)
{
	return n > 1;
}

const struct coll_algorithm coll_scatter_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_SCATTER,
	.flags = COLL_ALG_RANKS | COLL_ALG_INPUT | COLL_ALG_DIRECT,
	.chunks = coll_n_chunks,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
