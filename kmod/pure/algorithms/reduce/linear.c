// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear reduce: all send to the root.
 *
 *	0   1   3	root 2 folds 1 before its own, then 0 before that,
 *	 \  |  /	then 3 behind: 0 op 1 op 2 op 3
 *	  v v v
 *	    2
 *
 * The root starts from its own vector and works outwards, so the order is that of
 * the participants, and no scratch is needed when the result replaces the input.
 *
 * One transfer; one vector sent by each, all n - 1 received by the root.
 */
#include "../algorithms.h"

/* The round in which @i sends to @root. */
static u32 round_of(u32 i, u32 root)
{
	return i < root ? root - 1 - i : i - 1;
}

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 i, t, dep = COLL_DEP_NONE;
	u8 flags;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	e->round = 0;
	if (me != root) {
		e->round = round_of(me, root);
		coll_emit_send(e, root, 0, coll_emit_input(e, 0, 0), 0);
		return 0;
	}
	if (n == 1)
		coll_emit_input(e, 0, COLL_STEP_FINAL);
	for (t = 0; t < n - 1; t++) {
		i = t < root ? root - 1 - t : t + 1;
		flags = i > root ? COLL_STEP_LAST : 0;
		if (t == n - 2)
			flags |= COLL_STEP_FINAL;
		e->round = t;
		dep = coll_emit_recv_span(e, i, coll_work(0, 1),
					  t ? COLL_ACT_REDUCE : COLL_ACT_REDUCE_IN, dep, flags);
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

const struct coll_algorithm coll_reduce_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_REDUCE,
	.flags = COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
