// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Recursive-doubling exclusive scan: algorithms/scan/recursive_doubling.c, with the result kept
 * beside the fold that is sent: W is what has come from below, TMP[k] the same with one's
 * own vector behind it. n = 5, x-y: W is the fold of x to y.
 *
 *	me	0	1	2	3	4
 *	round 0	-	0-0	1-1	2-2	3-3
 *	round 1			0-1	0-2	1-3
 *	round 2					0-3
 *
 * floor(log2 n) transfers in a chain, at most ceil(log2 n) vectors sent, one fold more in
 * each round than the inclusive scan (Sanders, Traeff, "Parallel prefix (scan) algorithms for
 * MPI", 2006). The first participant has no result. If partial results are wide, the last
 * vector of TMP stands for W until it is complete.
 */
#include "../algorithms.h"

static u32 recursive_doubling_tmp(u32 n)
{
	return coll_log2_ceil(n) + 1;
}

static int recursive_doubling_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_chunks w = coll_work(0, 1), own = coll_scratch(0, 1), at = own;
	u8 final = e->wide ? 0 : COLL_STEP_FINAL;
	u32 k, bit, dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (e->wide)
		w = coll_scratch(recursive_doubling_tmp(n), 1);
	if (me + 1 < n)		/* the last one sends nothing */
		dep = coll_emit_inputs(e, own, 0);
	for (k = 0, bit = 1; bit < n; k++, bit *= 2) {
		e->round = k;
		if (bit < n - me)
			coll_emit_send_span(e, me + bit, at, dep, 0);
		if (bit > me)
			continue;
		dep = coll_emit_recv_span(e, me - bit, w, k ? COLL_ACT_REDUCE : COLL_ACT_COPY,
					  dep, 2 * bit > me ? final : 0);
		if (2 * bit > me && e->wide)
			coll_emit_result(e, w, dep);
		if (2 * bit >= n - me)
			continue;	/* nobody to send it to */
		at = coll_scratch(k + 1, 1);
		dep = coll_emit_local(e, at, COLL_ACT_MOVE, own, dep, 0);
		dep = coll_emit_local(e, at, COLL_ACT_FOLD, w, dep, 0);
	}
	return 0;
}

static u64 recursive_doubling_sent(u32 n, u32 me, u32 root)
{
	return coll_log2_ceil(n - me);
}

static u32 recursive_doubling_latency(u32 n, u32 root)
{
	return coll_log2_floor(n);
}

const struct coll_algorithm coll_exscan_recursive_doubling = {
	.name = "recursive_doubling",
	.id = COLL_ALG_RECURSIVE_DOUBLING,
	.collective = COLL_EXSCAN,
	.flags = COLL_ALG_RANKS | COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.tmp = recursive_doubling_tmp,
	.emit = recursive_doubling_emit,
	.sent = recursive_doubling_sent,
	.latency = recursive_doubling_latency,
};
