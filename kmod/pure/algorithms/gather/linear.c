// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear gather: all send their blocks to the root.
 *
 *	1   2   3
 *	 \  |  /
 *	  v v v
 *	    0
 *
 * One transfer, one block sent by each; the root has n - 1 messages coming in.
 */
#include "../algorithms.h"

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, from, dep;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	e->round = 0;
	dep = coll_emit_input(e, me, me == root ? COLL_STEP_FINAL : 0);
	if (me != root) {
		coll_emit_send(e, root, me, dep, 0);
		return 0;
	}
	for (d = 1; d < n; d++) {
		from = coll_after(n, me, d);
		coll_emit_recv(e, from, from, COLL_ACT_COPY, COLL_STEP_FINAL);
	}
	return 0;
}

static u64 linear_sent(u32 n, u32 me, u32 root)
{
	return me != root;
}

static u32 linear_latency(u32 n, u32 root)
{
	return n > 1;
}

const struct coll_algorithm coll_gather_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_GATHER,
	.flags = COLL_ALG_RANKS | COLL_ALG_DIRECT,
	.chunks = coll_n_chunks,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
