// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear broadcast: the root sends to each of the others.
 *
 *	1   2   3	1   2   3
 *	 \  |  /	^   ^	^
 *	  v v v		 \  |  /
 *	    0		    0
 *	tokens		data
 *
 * The tokens: see algorithms/broadcast/binomial.c. One transfer up and one down; the root sends
 * n - 1 vectors, the others nothing. For a few participants.
 */
#include "../algorithms.h"

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, dep;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	e->round = 0;
	if (me != root) {
		coll_emit_token(e, COLL_STEP_SEND, root, COLL_STEP_FENCE);
		e->round = 1;
		coll_emit_recv(e, root, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
		return 0;
	}
	dep = coll_emit_input(e, 0, COLL_STEP_FINAL);
	for (d = 1; d < n; d++)
		coll_emit_token(e, COLL_STEP_RECV, coll_after(n, me, d), 0);
	e->round = 1;
	for (d = 1; d < n; d++)
		coll_emit_send(e, coll_after(n, me, d), 0, dep, COLL_STEP_FENCE);
	return 0;
}

static u64 linear_sent(u32 n, u32 me, u32 root)
{
	return me == root ? n - 1 : 0;
}

static u32 linear_latency(u32 n, u32 root)
{
	return n > 1 ? 2 : 0;
}

const struct coll_algorithm coll_broadcast_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_BROADCAST,
	.chunks = coll_one_chunk,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
