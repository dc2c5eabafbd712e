// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Bruck's alltoall: a block that has to go i places to the right goes by the bits of i:
 * in round k every participant sends the blocks with bit k of i to me + 2^k, in one message.
 * n = 5:
 *
 *	i	1	2	3	4
 *	round 0	+1		+1
 *	round 1		+2	+2
 *	round 2				+4
 *
 * The blocks of a round are moved together first (they come out of the input, or out of
 * what earlier rounds brought), and moved to their places at the end. TMP has for each
 * round what goes out and what comes in, since what was sent may be read for long
 * after: n log2 n blocks. All are of one size, else nobody could know how long the
 * messages are: not for alltoallv.
 *
 * ceil(log2 n) transfers instead of n - 1, each of about n/2 blocks: (n/2) log2 n blocks
 * sent instead of n - 1. For small blocks (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE
 * TPDS 1997).
 */
#include "../algorithms.h"

/* How many of 0 .. @n - 1 have bit @k; the place of @i among them is in_round(i, k). */
static u32 in_round(u32 n, u32 k)
{
	u32 rest = n & ((2U << k) - 1), half = 1U << k;

	return ((n >> (k + 1)) << k) + (rest > half ? rest - half : 0);
}

/* First TMP chunk of round @k: what goes out, then what comes in. */
static u32 area(u32 n, u32 k)
{
	u32 i, at = 0;

	for (i = 0; i < k; i++)
		at += 2 * in_round(n, i);
	return at;
}

/* Where block @i has arrived last; @bits: the bits of @i by which it has gone. */
static struct coll_chunks arrived(u32 n, u32 i, u32 bits)
{
	u32 k = coll_log2_floor(bits);

	return coll_scratch(area(n, k) + in_round(n, k) + in_round(i, k), 1);
}

static void one_round(struct coll_emit *e, u32 n, u32 me, u32 k)
{
	u32 bit = 1U << k, nr = in_round(n, k), at = area(n, k), i, gone;
	struct coll_chunks to, from;

	for (i = bit; i < n; i++) {
		if (!(i & bit))
			continue;
		gone = i & (bit - 1);
		to = coll_scratch(at + in_round(i, k), 1);
		from = gone ? arrived(n, i, gone) : coll_input(coll_after(n, me, i), 1);
		coll_emit_local(e, to, COLL_ACT_MOVE, from, COLL_DEP_NONE,
				gone ? COLL_STEP_FENCE : 0);
	}
	e->round = k;
	coll_emit_send_span(e, coll_after(n, me, bit), coll_scratch(at, nr), COLL_DEP_NONE,
			    COLL_STEP_FENCE);
	coll_emit_recv_span(e, coll_before(n, me, bit), coll_scratch(at + nr, nr),
			    COLL_ACT_COPY, COLL_DEP_NONE, 0);
}

static u32 bruck_tmp(u32 n)
{
	return area(n, coll_log2_ceil(n));
}

static int bruck_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 k, i;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	coll_emit_input(e, me, COLL_STEP_FINAL);
	for (k = 0; 1U << k < n; k++)
		one_round(e, n, me, k);
	for (i = 1; i < n; i++)
		coll_emit_local(e, coll_work(coll_before(n, me, i), 1), COLL_ACT_MOVE,
				arrived(n, i, i), COLL_DEP_NONE,
				COLL_STEP_FENCE | COLL_STEP_FINAL);
	return 0;
}

static u64 bruck_sent(u32 n, u32 me, u32 root)
{
	return bruck_tmp(n) / 2;
}

static u32 bruck_latency(u32 n, u32 root)
{
	return coll_log2_ceil(n);
}

const struct coll_algorithm coll_alltoall_bruck = {
	.name = "bruck",
	.id = COLL_ALG_BRUCK,
	.collective = COLL_ALLTOALL,
	.flags = COLL_ALG_RANKS | COLL_ALG_INPUT | COLL_ALG_TMP | COLL_ALG_LAST |
		 COLL_ALG_EQUAL,
	.chunks = coll_n_chunks,
	.tmp = bruck_tmp,
	.emit = bruck_emit,
	.sent = bruck_sent,
	.latency = bruck_latency,
};
