// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Dissemination barrier (Hensgen, Finkel, Manber, "Two algorithms for barrier
 * synchronization", IJPP 1988).
 *
 * In round k every participant sends a token to me + 2^k (mod n) and waits for the one
 * from me - 2^k. After round k a participant has heard, directly or not, of the
 * 2^(k+1) - 1 to its left; after ceil(log2 n) rounds, of all. n = 5, to whom
 * each one sends:
 *
 *	me	    0	1   2	3   4
 *	round 0	    1	2   3	4   0	heard of 1 more
 *	round 1	    2	3   4	0   1	of 3
 *	round 2	    4	0   1	2   3	of 7: of all
 *
 * No payload. Every round waits for the round before: ceil(log2 n) transfers.
 */
#include "../algorithms.h"

/* There is no vector. 1 avoids divisions by zero. */
static u32 dissemination_chunks(u32 n)
{
	return 1;
}

static int dissemination_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 bit, to, from;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;

	e->round = 0;
	for (bit = 1; bit < n; bit <<= 1, e->round++) {
		to = bit < n - me ? me + bit : me + bit - n;
		from = me >= bit ? me - bit : me + n - bit;
		coll_emit_token(e, COLL_STEP_SEND, to, COLL_STEP_FENCE);
		coll_emit_token(e, COLL_STEP_RECV, from, 0);
	}
	return 0;
}

static u64 dissemination_sent(u32 n, u32 me, u32 root)
{
	return 0;
}

static u32 dissemination_latency(u32 n, u32 root)
{
	return coll_log2_ceil(n);
}

const struct coll_algorithm coll_barrier_dissemination = {
	.name = "dissemination",
	.id = COLL_ALG_DISSEMINATION,
	.collective = COLL_BARRIER,
	.chunks = dissemination_chunks,
	.emit = dissemination_emit,
	.sent = dissemination_sent,
	.latency = dissemination_latency,
};
