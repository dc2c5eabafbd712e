// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear reduce-scatter: every participant sends each block to its owner, who folds them in the
 * order of participants: n times algorithms/reduce/linear.c. n = 4, what participant 2 takes:
 *
 *	own, then 1 before it, 0 before that, 3 behind: 0 op 1 op 2 op 3
 *
 * n - 1 blocks sent, one transfer in a chain. source_in_round() has the order: a participant
 * sends to those above it one by one, and to all below it in one round. For operators that do
 * not commute; for the others, pairwise does not send so much to one at the same time.
 */
#include "../algorithms.h"

static void send_to(struct coll_emit *e, u32 owner)
{
	coll_emit_send(e, owner, owner, coll_emit_input(e, owner, 0), 0);
}

/* The participant whose block the owner takes in round @t. */
static u32 source_in_round(u32 owner, u32 t)
{
	return t < owner ? owner - 1 - t : t + 1;
}

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 t, i, from, dep = COLL_DEP_NONE;
	u8 flags;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1)
		coll_emit_input(e, 0, COLL_STEP_FINAL);
	for (t = 0; t < n - 1; t++) {
		e->round = t;
		if (me + 1 + t < n)
			send_to(e, me + 1 + t);
		for (i = 0; t + 1 == me && i < me; i++)
			send_to(e, i);
		from = source_in_round(me, t);
		flags = from > me ? COLL_STEP_LAST : 0;
		if (t == n - 2)
			flags |= COLL_STEP_FINAL;
		dep = coll_emit_recv_span(e, from, coll_work(me, 1),
					  t ? COLL_ACT_REDUCE : COLL_ACT_REDUCE_IN, dep, flags);
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

const struct coll_algorithm coll_reduce_scatter_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_REDUCE_SCATTER,
	.flags = COLL_ALG_RANKS | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_n_chunks,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
