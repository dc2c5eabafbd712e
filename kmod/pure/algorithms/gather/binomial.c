// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Binomial gather: up the tree, each sends its block and all it has gathered. n = 6,
 * numbers relative to the root:
 *
 *	     0		round 0: 1 -> 0, 3 -> 2, 5 -> 4
 *	   / | \	round 1: 2 3 -> 0
 *	  1  2  4	round 2: 4 5 -> 0
 *	     |  |
 *	     3  5
 *
 * floor(log2 n) transfers, where the root of a linear one takes n - 1 messages; but
 * most blocks travel more than once: r sends as many as hang below it (Thakur,
 * Rabenseifner, Gropp 2005).
 */
#include "../../topology/knomial.h"

static int binomial_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_knomial_child c;
	struct coll_knomial t;
	u8 final = me == root ? COLL_STEP_FINAL : 0;
	u32 peer;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	t = coll_knomial_at(n, me, root, 2);
	e->round = 0;
	coll_emit_input(e, me, final);
	for (c = coll_knomial_nearest(&t); c.rel; coll_knomial_further(&t, &c)) {
		e->round = coll_knomial_up_round(&t, c.level, c.digit);
		peer = coll_knomial_peer(&t, c.rel);
		coll_emit_recv_circle(e, peer, n,
				      coll_work(peer, coll_knomial_below(&t, c.rel, c.span)),
				      final);
	}
	if (t.rel) {
		e->round = coll_knomial_up_round(&t, t.level, t.digit);
		coll_emit_send_circle(e, coll_knomial_parent(&t), n,
				      coll_work(me, coll_knomial_below(&t, t.rel, t.span)),
				      COLL_STEP_FENCE);
	}
	return 0;
}

static u64 binomial_sent(u32 n, u32 me, u32 root)
{
	struct coll_knomial t = coll_knomial_at(n, me, root, 2);

	return t.rel ? coll_knomial_below(&t, t.rel, t.span) : 0;
}

static u32 binomial_latency(u32 n, u32 root)
{
	return coll_log2_floor(n);
}

const struct coll_algorithm coll_gather_binomial = {
	.name = "binomial",
	.id = COLL_ALG_BINOMIAL,
	.collective = COLL_GATHER,
	.flags = COLL_ALG_RANKS,
	.chunks = coll_n_chunks,
	.emit = binomial_emit,
	.sent = binomial_sent,
	.latency = binomial_latency,
};
