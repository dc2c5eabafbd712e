// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Full mesh: everyone sends its whole vector to everyone, and each one folds all of
 * them, in the order of participants.
 *
 *	0 --- 1		each line: a vector there and a vector back
 *	| \ / |
 *	| / \ |
 *	2 --- 3
 *
 * One transfer in a chain, the least there can be; n - 1 vectors sent by each, D n (n - 1)
 * bytes in all, and every participant does all the arithmetic (the textbook's "full
 * mesh"). For two or three participants, or a few bytes.
 *
 * It is the exchange of algorithms/allreduce/recursive_doubling.c with one level of radix n. In
 * round q participant q sends. Sends that share a stream go in this order, and every participant
 * folds in this order.
 */
#include "../exchange.h"

static struct coll_core at(u32 n, u32 me)
{
	return coll_core_at(n, me, 0, n < 2 ? 2 : n, 0);
}

static u32 mesh_full_tmp(u32 n)
{
	return n > 1;
}

static int mesh_full_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	c = at(n, me);
	coll_emit_exchange(e, &c);
	return 0;
}

static u64 mesh_full_sent(u32 n, u32 me, u32 root)
{
	return n - 1;
}

static u32 mesh_full_latency(u32 n, u32 root)
{
	return n > 1;
}

const struct coll_algorithm coll_allreduce_mesh_full = {
	.name = "mesh_full",
	.id = COLL_ALG_MESH_FULL,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.tmp = mesh_full_tmp,
	.emit = mesh_full_emit,
	.sent = mesh_full_sent,
	.latency = mesh_full_latency,
};
