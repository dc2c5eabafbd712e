// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear scan: a chain in the order of participants.
 *
 *	0 -> 1 -> 2 -> 3	each adds its own, keeps the sum and sends it on
 *
 * n - 1 transfers in a chain, one vector sent by all but the last; segments follow one
 * another, so it is good for long vectors (Sanders, Traeff, "Parallel prefix (scan)
 * algorithms for MPI", EuroPVM/MPI 2006). The sum stays in W, or, if partial results are
 * wide, in TMP.
 */
#include "../algorithms.h"

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	bool wide = e->wide && me + 1 < n;
	struct coll_chunks sum = wide ? coll_scratch(0, 1) : coll_work(0, 1);
	u8 flags = wide ? 0 : COLL_STEP_FINAL;
	u32 dep;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	e->round = me ? me - 1 : 0;
	dep = me ? coll_emit_recv_span(e, me - 1, sum, COLL_ACT_REDUCE_IN, COLL_DEP_NONE,
				       flags) :
		   coll_emit_inputs(e, sum, flags);
	if (wide)
		coll_emit_result(e, sum, dep);
	e->round = me;
	if (me + 1 < n)
		coll_emit_send_span(e, me + 1, sum, dep, 0);
	return 0;
}

static u64 linear_sent(u32 n, u32 me, u32 root)
{
	return me + 1 < n;
}

static u32 linear_latency(u32 n, u32 root)
{
	return n - 1;
}

const struct coll_algorithm coll_scan_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_SCAN,
	.flags = COLL_ALG_RANKS | COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
