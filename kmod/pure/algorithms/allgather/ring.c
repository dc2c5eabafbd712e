// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ring allgather: the second half of algorithms/allreduce/ring.c. In round t every
 * participant sends to the right the block of me - t. n = 4:
 *
 *	round	0	1	2
 *	0	0>1	3>1	2>1		(block > to whom)
 *	1	1>2	0>2	3>2
 *	2	2>3	1>3	0>3
 *	3	3>0	2>0	1>0
 *
 * n - 1 blocks sent, which is the least, in n - 1 transfers one after the other; two
 * links each (Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication
 * Operations in MPICH", IJHPCA 2005).
 */
#include "../algorithms.h"

static int ring_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 right, left, chunk = me, t, dep;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	right = coll_after(n, me, 1);
	left = coll_before(n, me, 1);
	dep = coll_emit_input(e, me, COLL_STEP_FINAL);
	for (t = 0; t < n - 1; t++) {
		e->round = t;
		coll_emit_send(e, right, chunk, dep, 0);
		chunk = coll_before(n, chunk, 1);
		dep = coll_emit_recv(e, left, chunk, COLL_ACT_COPY, COLL_STEP_FINAL);
	}
	return 0;
}

static u64 ring_sent(u32 n, u32 me, u32 root)
{
	return n - 1;
}

static u32 ring_latency(u32 n, u32 root)
{
	return n - 1;
}

const struct coll_algorithm coll_allgather_ring = {
	.name = "ring",
	.id = COLL_ALG_RING,
	.collective = COLL_ALLGATHER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = ring_emit,
	.sent = ring_sent,
	.latency = ring_latency,
};
