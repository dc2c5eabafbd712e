// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Chain reduce: from both ends to the root, folded on the way.
 *
 *	0 -> 1 -> 2 <- 3 <- 4	root 2: (0 op 1) op 2 op (3 op 4)
 *
 * In the order of participants, whichever is the root. One vector sent by all but the
 * root; max(root, n - 1 - root) transfers in a chain, and segments follow one another: for
 * long vectors it costs little more than sending one (Worringen, "Pipelining and
 * overlapping for MPI collective operations", LCN 2003).
 */
#include "../algorithms.h"

static int chain_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 lower, upper, i, from, first, dep = COLL_DEP_NONE;
	u8 flags;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;

	/* who sends to me: the one below, the one above, the root has both */
	lower = me && me <= root ? 1 : 0;
	upper = me < n - 1 && me >= root ? 1 : 0;
	/* the upper half goes second where they meet in the same round */
	first = lower && upper && me - 1 > n - 2 - me ? 1 : 0;
	e->round = 0;
	for (i = 0; i < 2; i++) {
		from = i ^ first;	/* 0: the lower one */
		if (from ? !upper : !lower)
			continue;
		e->round = from ? 2 * (n - 2 - me) + 1 : 2 * (me - 1);
		flags = from ? COLL_STEP_LAST : 0;
		if (me == root && (i || !(from ? lower : upper)))
			flags |= COLL_STEP_FINAL;
		dep = coll_emit_recv_span(e, from ? me + 1 : me - 1, coll_work(0, 1),
					  dep == COLL_DEP_NONE ? COLL_ACT_REDUCE_IN :
								 COLL_ACT_REDUCE, dep, flags);
	}
	if (dep == COLL_DEP_NONE)
		dep = coll_emit_input(e, 0, me == root ? COLL_STEP_FINAL : 0);
	if (me != root) {
		e->round = me < root ? 2 * me : 2 * (n - 1 - me) + 1;
		coll_emit_send(e, me < root ? me + 1 : me - 1, 0, dep, 0);
	}
	return 0;
}

static u64 chain_sent(u32 n, u32 me, u32 root)
{
	return me != root;
}

static u32 chain_latency(u32 n, u32 root)
{
	return root > n - 1 - root ? root : n - 1 - root;
}

const struct coll_algorithm coll_reduce_chain = {
	.name = "chain",
	.id = COLL_ALG_CHAIN,
	.collective = COLL_REDUCE,
	.flags = COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.emit = chain_emit,
	.sent = chain_sent,
	.latency = chain_latency,
};
