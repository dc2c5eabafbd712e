// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Binomial-tree reduce; n = 6, numbers relative to the root:
 *
 *	     0		round 0: 1 -> 0, 3 -> 2, 5 -> 4
 *	   / | \	round 1: 2 -> 0
 *	  1  2  4	round 2: 4 -> 0
 *	     |  |
 *	     3  5
 *
 * Every participant but the root sends one vector; floor(log2 n) transfers in a chain, and the root
 * receives ceil(log2 n) vectors one after the other (Thakur, Rabenseifner, Gropp 2005). A
 * received vector is put before the own one, so the order is 4 5 2 3 0 1: fixed, but not that
 * of the participants. For operators that do not commute: tree, chain.
 */
#include "../../topology/knomial.h"

static int binomial_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_knomial_child c, next;
	struct coll_knomial t;
	u32 dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	t = coll_knomial_at(n, me, root, 2);
	e->round = 0;
	for (c = coll_knomial_nearest(&t); c.rel; c = next) {
		next = c;
		coll_knomial_further(&t, &next);
		e->round = coll_knomial_up_round(&t, c.level, c.digit);
		dep = coll_emit_recv_span(e, coll_knomial_peer(&t, c.rel), coll_work(0, 1),
					  dep == COLL_DEP_NONE ? COLL_ACT_REDUCE_IN :
								 COLL_ACT_REDUCE, dep,
					  t.rel || next.rel ? 0 : COLL_STEP_FINAL);
	}
	if (dep == COLL_DEP_NONE)
		dep = coll_emit_input(e, 0, t.rel ? 0 : COLL_STEP_FINAL);
	if (t.rel) {
		e->round = coll_knomial_up_round(&t, t.level, t.digit);
		coll_emit_send(e, coll_knomial_parent(&t), 0, dep, 0);
	}
	return 0;
}

static u64 binomial_sent(u32 n, u32 me, u32 root)
{
	return me != root;
}

static u32 binomial_latency(u32 n, u32 root)
{
	return coll_log2_floor(n);
}

const struct coll_algorithm coll_reduce_binomial = {
	.name = "binomial",
	.id = COLL_ALG_BINOMIAL,
	.collective = COLL_REDUCE,
	.chunks = coll_one_chunk,
	.emit = binomial_emit,
	.sent = binomial_sent,
	.latency = binomial_latency,
};
