// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ring reduce-scatter: the first half of algorithms/allreduce/ring.c, begun one place earlier so
 * that every participant ends with its own block. In round t send block me - 1 - t to the right,
 * take me - 2 - t and add mine; n = 4, sends:
 *
 *	round	0	1	2	has then
 *	0	3>1	2>1	1>1	0		(block > to whom)
 *	1	0>2	3>2	2>2	1
 *	2	1>3	0>3	3>3	2
 *	3	2>0	1>0	0>0	3
 *
 * n - 1 blocks sent, the least there is, in n - 1 transfers one after the other
 * (Patarasu, Yuan 2009). Block b is folded in ring order from participant b + 1 on.
 */
#include "../algorithms.h"

static int ring_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 right, left, chunk, t, dep;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	right = coll_after(n, me, 1);
	left = coll_before(n, me, 1);
	chunk = left;
	dep = coll_emit_input(e, chunk, n == 1 ? COLL_STEP_FINAL : 0);
	for (t = 0; t < n - 1; t++) {
		e->round = t;
		coll_emit_send(e, right, chunk, dep, 0);
		chunk = coll_before(n, chunk, 1);
		dep = coll_emit_recv(e, left, chunk, COLL_ACT_REDUCE_IN,
				     t == n - 2 ? COLL_STEP_FINAL : 0);
	}
	return 0;
}

static u64 ring_sent(u32 n, u32 me, u32 root)
{
	return n - 1;
}

static u32 ring_latency(u32 n, u32 root)
{
	return n - 1;
}

const struct coll_algorithm coll_reduce_scatter_ring = {
	.name = "ring",
	.id = COLL_ALG_RING,
	.collective = COLL_REDUCE_SCATTER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = ring_emit,
	.sent = ring_sent,
	.latency = ring_latency,
};
