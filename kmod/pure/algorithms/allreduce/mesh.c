// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Mesh: each participant owns one chunk. All send their pieces of it to the owner
 * (reduce-scatter), the owner adds them up, and sends the sum to all (allgather). Alink
 * calls the three stages scatter, reduce, broadcast.
 *
 * n = 3, sends of chunk c to p as c>p:
 *
 *		stage 1		stage 2			stage 3
 *	0	1>1, 2>2	sums up chunk 0		0>1, 0>2
 *	1	2>2, 0>0	sums up chunk 1		1>2, 1>0
 *	2	0>0, 1>1	sums up chunk 2		2>0, 2>1
 *
 * Each sends 2(n - 1) chunks, 2(n - 1)/n of the vector: as little as in a ring, and in only
 * two transfers one after the other. But all send to all: 2(n - 1) messages from each.
 * The chunks are those of coll_chunk_start(), balanced to one element.
 *
 * The owner's own piece is the last operand: the fold starts with the right neighbour
 * and goes round. A chunk is folded in one place only, hence the same bits everywhere.
 */
#include "../algorithms.h"

static int mesh_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 d, to, dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}

	for (d = 1; d < n; d++) {
		e->round = d - 1;
		to = coll_after(n, me, d);
		coll_emit_send(e, to, to, coll_emit_input(e, to, 0), 0);
		dep = coll_emit_recv_span(e, coll_before(n, me, d), coll_work(me, 1),
					  d == 1 ? COLL_ACT_REDUCE_IN : COLL_ACT_REDUCE, dep,
					  d == n - 1 ? COLL_STEP_FINAL : 0);
	}
	for (d = 1; d < n; d++) {
		e->round = n - 2 + d;
		coll_emit_send(e, coll_after(n, me, d), me, dep, 0);
		coll_emit_recv(e, coll_before(n, me, d), coll_before(n, me, d), COLL_ACT_COPY,
			       COLL_STEP_FINAL);
	}
	return 0;
}

static u64 mesh_sent(u32 n, u32 me, u32 root)
{
	return 2 * ((u64)n - 1);
}

static u32 mesh_latency(u32 n, u32 root)
{
	return n > 1 ? 2 : 0;
}

const struct coll_algorithm coll_allreduce_mesh = {
	.name = "mesh",
	.id = COLL_ALG_MESH,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_ONE_PLACE,
	.chunks = coll_n_chunks,
	.emit = mesh_emit,
	.sent = mesh_sent,
	.latency = mesh_latency,
};
