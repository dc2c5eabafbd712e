// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Chain broadcast: from the root, r = 0, to r = n - 1, each passing on what comes.
 *
 *	0 <- 1 <- 2 <- 3	tokens, see algorithms/broadcast/binomial.c
 *	0 -> 1 -> 2 -> 3	data
 *
 * n - 1 transfers up and n - 1 down, one vector sent by all but the last. Segments
 * follow one another: a long vector takes its own time and n - 1 segments', less than
 * any tree's (Traeff, Ripke, "Optimal broadcast for fully connected processor-node
 * networks", JPDC 2008). Every participant needs two links only.
 */
#include "../algorithms.h"

static int chain_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 rel, next, prev, dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	rel = coll_before(n, me, root);
	next = coll_after(n, me, 1);
	prev = coll_before(n, me, 1);

	e->round = 0;
	if (!rel)
		dep = coll_emit_input(e, 0, COLL_STEP_FINAL);
	if (rel < n - 1) {
		e->round = n - 2 - rel;
		coll_emit_token(e, COLL_STEP_RECV, next, 0);
	}
	if (rel) {
		e->round = n - 1 - rel;
		coll_emit_token(e, COLL_STEP_SEND, prev, COLL_STEP_FENCE);
		e->round = n - 2 + rel;
		dep = coll_emit_recv(e, prev, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
	}
	if (rel < n - 1) {
		e->round = n - 1 + rel;
		coll_emit_send(e, next, 0, dep, rel ? 0 : COLL_STEP_FENCE);
	}
	return 0;
}

static u64 chain_sent(u32 n, u32 me, u32 root)
{
	return coll_before(n, me, root) < n - 1;
}

static u32 chain_latency(u32 n, u32 root)
{
	return 2 * (n - 1);
}

const struct coll_algorithm coll_broadcast_chain = {
	.name = "chain",
	.id = COLL_ALG_CHAIN,
	.collective = COLL_BROADCAST,
	.chunks = coll_one_chunk,
	.emit = chain_emit,
	.sent = chain_sent,
	.latency = chain_latency,
};
