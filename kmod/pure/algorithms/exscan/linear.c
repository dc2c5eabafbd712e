// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Linear exclusive scan: a chain in the order of participants.
 *
 *	0 -> 1 -> 2 -> 3	what comes is the result; with one's own behind it,
 *				it goes on
 *
 * n - 1 transfers in a chain, one vector sent by all but the last, segments follow one another
 * (algorithms/scan/linear.c). The first participant has no result. TMP holds the sum that goes
 * on: first the participant's own vector, before the result may be written over it. The
 * received vector lies in W, or, if partial results are wide, in one more vector of TMP.
 */
#include "../algorithms.h"

static u32 linear_tmp(u32 n)
{
	return 1;
}

static int linear_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	bool wide = e->wide && me + 1 < n;
	struct coll_chunks came = wide ? coll_scratch(linear_tmp(n), 1) : coll_work(0, 1);
	struct coll_chunks sum = coll_scratch(0, 1);
	u32 dep;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	e->round = me ? me - 1 : 0;
	dep = COLL_DEP_NONE;
	if (me + 1 < n)
		dep = coll_emit_inputs(e, sum, 0);
	if (me)
		dep = coll_emit_recv_span(e, me - 1, came, COLL_ACT_COPY, dep,
					  wide ? 0 : COLL_STEP_FINAL);
	if (me + 1 == n)
		return 0;
	if (me && wide)
		coll_emit_result(e, came, dep);
	if (me)
		dep = coll_emit_local(e, sum, COLL_ACT_FOLD, came, dep, 0);
	e->round = me;
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

const struct coll_algorithm coll_exscan_linear = {
	.name = "linear",
	.id = COLL_ALG_LINEAR,
	.collective = COLL_EXSCAN,
	.flags = COLL_ALG_RANKS | COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.tmp = linear_tmp,
	.emit = linear_emit,
	.sent = linear_sent,
	.latency = linear_latency,
};
