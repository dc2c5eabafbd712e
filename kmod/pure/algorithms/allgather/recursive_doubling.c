// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Recursive-doubling allgather: a participant exchanges all that it has with partners at distance
 * 1, 2, 4, ...; n = 6, the groups (0 1) (2 3) (4) (5) of topology/hypercube.h:
 *
 *	round	0	1	       2		3
 *	0	<- 1	0 1 <-> 2      0-3 <-> 4	-> 1: all but 1
 *	1	-> 0					<- 0
 *	2	<- 3	2 3 <-> 0      0-3 <-> 5	-> 3
 *	3	-> 2					<- 2
 *	4		4 <-> 5	       4 5 <-> 0
 *	5		5 <-> 4	       4 5 <-> 2
 *
 * log2 n transfers, n - 1 blocks sent, where n is a power of two; else up to two transfers more
 * (coll_core_latency()), and the leader of a group of two sends n - 1 blocks more (Thakur,
 * Rabenseifner, Gropp 2005).
 */
#include "../../topology/hypercube.h"

static int recursive_doubling_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;
	u32 other, dep;
	bool leads;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	c = coll_core_at(n, me, 0, 2, n);
	leads = me == c.first;
	other = leads ? me + 1 : c.first;
	e->round = 0;
	dep = coll_emit_input(e, me, COLL_STEP_FINAL);
	if (!leads)
		coll_emit_send(e, other, me, dep, 0);
	else if (c.size > 1)
		coll_emit_recv(e, other, other, COLL_ACT_COPY, COLL_STEP_FINAL);
	if (leads)
		coll_emit_doubling(e, &c, 1);
	e->round = 1 + c.levels;
	/* all blocks but that of the second one: the n - 1 blocks behind it */
	if (!leads)
		coll_emit_recv_circle(e, other, n, coll_work(coll_after(n, me, 1), n - 1),
				      COLL_STEP_FINAL);
	else if (c.size > 1)
		coll_emit_send_circle(e, other, n, coll_work(coll_after(n, other, 1), n - 1),
				      COLL_STEP_FENCE);
	return 0;
}

static u64 recursive_doubling_sent(u32 n, u32 me, u32 root)
{
	struct coll_core c = coll_core_at(n, me, 0, 2, n);

	if (me != c.first)
		return 1;
	return coll_doubling_sent(&c) + (c.size > 1 ? n - 1 : 0);
}

static u32 recursive_doubling_latency(u32 n, u32 root)
{
	struct coll_core c = coll_core_at(n, 0, 0, 2, n);

	return coll_core_latency(&c);
}

const struct coll_algorithm coll_allgather_recursive_doubling = {
	.name = "recursive_doubling",
	.id = COLL_ALG_RECURSIVE_DOUBLING,
	.collective = COLL_ALLGATHER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = recursive_doubling_emit,
	.sent = recursive_doubling_sent,
	.latency = recursive_doubling_latency,
};
