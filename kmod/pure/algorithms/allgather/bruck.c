// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Bruck's allgather: in round k a participant sends all that it has to me - 2^k, and gets as
 * much from me + 2^k. n = 5, blocks of participant 0:
 *
 *	has	0	0 1	0 1 2 3		0 1 2 3 4
 *	gets	  1 from 1  2 3 from 2	4 from 4
 *
 * ceil(log2 n) transfers for any n, n - 1 blocks sent: both the least there is (Bruck,
 * Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in
 * multiport message-passing systems", IEEE TPDS 1997). Blocks stay in their places, a
 * range that runs over the end is sent in two: nothing has to be rotated afterwards.
 */
#include "../algorithms.h"

/* Blocks that a participant sends when it has @has. */
static u32 moved(u32 n, u32 has)
{
	return has < n - has ? has : n - has;
}

static int bruck_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 has, nr, from;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	coll_emit_input(e, me, COLL_STEP_FINAL);
	e->round = 0;
	for (has = 1; has < n; has += nr, e->round++) {
		nr = moved(n, has);
		from = coll_after(n, me, has);
		coll_emit_send_circle(e, coll_before(n, me, has), n, coll_work(me, nr),
				      COLL_STEP_FENCE);
		coll_emit_recv_circle(e, from, n, coll_work(from, nr), COLL_STEP_FINAL);
	}
	return 0;
}

static u64 bruck_sent(u32 n, u32 me, u32 root)
{
	return n - 1;
}

static u32 bruck_latency(u32 n, u32 root)
{
	return coll_log2_ceil(n);
}

const struct coll_algorithm coll_allgather_bruck = {
	.name = "bruck",
	.id = COLL_ALG_BRUCK,
	.collective = COLL_ALLGATHER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = bruck_emit,
	.sent = bruck_sent,
	.latency = bruck_latency,
};
