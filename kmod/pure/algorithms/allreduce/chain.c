// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Chain: the vector goes from participant 0 to n - 1 and is folded on the way, in the
 * order of participants; the result comes back the same way.
 *
 *	0 -> 1 -> 2 -> 3	each adds its own
 *	0 <- 1 <- 2 <- 3	the result
 *
 * 2(n - 1) transfers in a chain. Inner participants send two vectors, the ends one.
 * Segments follow one another, so a long vector costs its own time and 2(n - 1) times
 * that of a segment; every link is used both ways at the same time (the pipelined chain
 * of Traeff, Ripke, "Optimal broadcast for fully connected processor-node networks",
 * JPDC 2008, used twice).
 */
#include "../algorithms.h"

static int chain_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u8 final = me == n - 1 ? COLL_STEP_FINAL : 0;
	u32 dep;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	e->round = me ? me - 1 : 0;
	dep = me ? coll_emit_recv(e, me - 1, 0, COLL_ACT_REDUCE_IN, final) :
		   coll_emit_input(e, 0, final);
	if (!final) {
		e->round = me;
		coll_emit_send(e, me + 1, 0, dep, 0);
		e->round = 2 * n - 3 - me;
		dep = coll_emit_recv(e, me + 1, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
	}
	if (me) {
		e->round = 2 * n - 2 - me;
		coll_emit_send(e, me - 1, 0, dep, 0);
	}
	return 0;
}

static u64 chain_sent(u32 n, u32 me, u32 root)
{
	return (me > 0) + (me < n - 1);
}

static u32 chain_latency(u32 n, u32 root)
{
	return 2 * (n - 1);
}

const struct coll_algorithm coll_allreduce_chain = {
	.name = "chain",
	.id = COLL_ALG_CHAIN,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_ORDERED | COLL_ALG_ONE_PLACE,
	.chunks = coll_one_chunk,
	.emit = chain_emit,
	.sent = chain_sent,
	.latency = chain_latency,
};
