// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Naive ring: the whole vector travels once round the ring from participant 0 and is
 * folded, and the result travels round once more from n - 1.
 *
 *	  0 -> 1		 0 -> 1
 *	       |		 ^    |
 *	       v		 |    v
 *	  3 <- 2		 3    2
 *	each adds its own	the result
 *
 * 2(n - 1) transfers in a chain of the whole vector: the textbook's naive ring, to be
 * compared with ring, which has as many transfers of one n-th of it. n - 1 vectors in
 * each of the two rounds: participants 0 .. n - 3 send two, the last two one each.
 * The fold is in the order of participants.
 */
#include "../algorithms.h"

static int ring_naive_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 right, left, dep;
	u8 final;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	final = me == n - 1 ? COLL_STEP_FINAL : 0;
	right = me + 1 < n ? me + 1 : 0;
	left = me ? me - 1 : n - 1;

	e->round = me ? me - 1 : 0;
	dep = me ? coll_emit_recv(e, left, 0, COLL_ACT_REDUCE_IN, final) :
		   coll_emit_input(e, 0, final);
	if (n == 1)
		return 0;
	e->round = me;
	if (!final) {
		coll_emit_send(e, right, 0, dep, 0);
		e->round = n - 1 + me;
		dep = coll_emit_recv(e, left, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
	}
	e->round = final ? n - 1 : n + me;
	if (me != n - 2)
		coll_emit_send(e, right, 0, dep, 0);
	return 0;
}

static u64 ring_naive_sent(u32 n, u32 me, u32 root)
{
	if (n == 1)
		return 0;
	return me + 2 < n ? 2 : 1;
}

static u32 ring_naive_latency(u32 n, u32 root)
{
	return 2 * (n - 1);
}

const struct coll_algorithm coll_allreduce_ring_naive = {
	.name = "ring_naive",
	.id = COLL_ALG_RING_NAIVE,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_ORDERED | COLL_ALG_ONE_PLACE,
	.chunks = coll_one_chunk,
	.emit = ring_naive_emit,
	.sent = ring_naive_sent,
	.latency = ring_naive_latency,
};
