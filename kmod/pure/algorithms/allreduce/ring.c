// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ring allreduce: reduce-scatter, then allgather, both around one ring.
 *
 * n participants, n chunks; every participant sends to the right (me + 1) and receives
 * from the left (me - 1), one chunk per round. In the first n - 1 rounds the
 * chunk that travels grows by the inputs of everyone it visits; where it stops
 * it is final. In the next n - 1 rounds the final chunks travel once more.
 *
 * n = 4; sN: sends chunk N, rN: receives chunk N and adds its inputs, fN: the
 * same, and N is final now, cN: receives final chunk N.
 *
 *	round	      0	      1	      2	      3	      4	      5
 *	0	  s0 r3	  s3 r2	  s2 f1	  s1 c0	  s0 c3	  s3 c2
 *	1	  s1 r0	  s0 r3	  s3 f2	  s2 c1	  s1 c0	  s0 c3
 *	2	  s2 r1	  s1 r0	  s0 f3	  s3 c2	  s2 c1	  s1 c0
 *	3	  s3 r2	  s2 r1	  s1 f0	  s0 c3	  s3 c2	  s2 c1
 *
 * In round t participant me sends chunk me - t and receives chunk me - t - 1
 * (mod n); what it sends is what it received the round before.
 *
 * One send per round: 2(n - 1) chunks, 2(n - 1)/n of the vector, which is the
 * least any allreduce can do (Patarasu, Yuan, "Bandwidth optimal all-reduce
 * algorithms for clusters of workstations", JPDC 2009). Every send waits for
 * the round before: a chain of 2(n - 1) transfers (Thakur, Rabenseifner, Gropp,
 * "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005).
 *
 * Chunk c is folded in ring order from participant c on, and in one place only;
 * all others get that result copied, hence the same bits.
 *
 * A chunk is overwritten by its final value only after the partial one has been
 * taken by the right neighbour: the final value was computed from it, byte for
 * byte.
 */
#include "../algorithms.h"

static u32 ring_chunks(u32 n)
{
	return n;
}

static int ring_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 rounds, right, left, chunk, t, dep;
	u8 action, flags;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}

	rounds = 2 * (n - 1);
	right = me + 1 < n ? me + 1 : 0;
	left = me ? me - 1 : n - 1;
	chunk = me;
	dep = coll_emit_input(e, chunk, 0);
	for (t = 0; t < rounds; t++) {
		e->round = t;
		coll_emit_send(e, right, chunk, dep, 0);
		chunk = chunk ? chunk - 1 : n - 1;
		action = t < n - 1 ? COLL_ACT_REDUCE_IN : COLL_ACT_COPY;
		flags = t < n - 2 ? 0 : COLL_STEP_FINAL;
		dep = coll_emit_recv(e, left, chunk, action, flags);
	}
	return 0;
}

static u64 ring_sent(u32 n, u32 me, u32 root)
{
	return 2 * ((u64)n - 1);
}

static u32 ring_latency(u32 n, u32 root)
{
	return 2 * (n - 1);
}

const struct coll_algorithm coll_allreduce_ring = {
	.name = "ring",
	.id = COLL_ALG_RING,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_ONE_PLACE,
	.chunks = ring_chunks,
	.emit = ring_emit,
	.sent = ring_sent,
	.latency = ring_latency,
};
