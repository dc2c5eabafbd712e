// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Recursive-doubling scan: in round k a participant sends what it has to me + 2^k, and puts
 * what comes from me - 2^k before it. x-y: has the fold of x to y; n = 5:
 *
 *	me	0	1	2	3	4
 *	round 0	0-0	0-1	1-2	2-3	3-4
 *	round 1			0-2	0-3	1-4
 *	round 2					0-4
 *
 * ceil(log2 n) rounds for any n, and at most as many vectors sent; a chain of m transfers
 * spans 2^m participants, so the longest has floor(log2 n) (Hillis, Steele, "Data parallel
 * algorithms", CACM 1986; Sanders, Traeff 2006 for MPI). In the order of participants. TMP
 * has a vector for each level, because what was sent may be read for long after. The last
 * level is W, or, if partial results are wide, one more vector of TMP.
 */
#include "../algorithms.h"

static u32 recursive_doubling_tmp(u32 n)
{
	return coll_log2_ceil(n);
}

static int recursive_doubling_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_chunks sum = coll_work(0, 1), at, to;
	u8 final = e->wide ? 0 : COLL_STEP_FINAL;
	u32 k, bit, dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (e->wide)
		sum = coll_scratch(recursive_doubling_tmp(n), 1);
	at = me ? coll_scratch(0, 1) : sum;
	if (!me || me + 1 < n)	/* the last one sends nothing */
		dep = coll_emit_inputs(e, at, me ? 0 : final);
	for (k = 0, bit = 1; bit < n; k++, bit *= 2) {
		e->round = k;
		if (bit < n - me)
			coll_emit_send_span(e, me + bit, at, dep, 0);
		if (bit > me)
			continue;
		to = 2 * bit > me ? sum : coll_scratch(k + 1, 1);
		if (k)
			dep = coll_emit_local(e, to, COLL_ACT_MOVE, at, dep, 0);
		dep = coll_emit_recv_span(e, me - bit, to,
					  k ? COLL_ACT_REDUCE : COLL_ACT_REDUCE_IN, dep,
					  2 * bit > me ? final : 0);
		at = to;
	}
	if (e->wide)
		coll_emit_result(e, sum, dep);
	return 0;
}

/* The number of distances that do not lead beyond the last participant. */
static u64 recursive_doubling_sent(u32 n, u32 me, u32 root)
{
	return coll_log2_ceil(n - me);
}

static u32 recursive_doubling_latency(u32 n, u32 root)
{
	return coll_log2_floor(n);
}

const struct coll_algorithm coll_scan_recursive_doubling = {
	.name = "recursive_doubling",
	.id = COLL_ALG_RECURSIVE_DOUBLING,
	.collective = COLL_SCAN,
	.flags = COLL_ALG_RANKS | COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.tmp = recursive_doubling_tmp,
	.emit = recursive_doubling_emit,
	.sent = recursive_doubling_sent,
	.latency = recursive_doubling_latency,
};
