// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Tree barrier: tokens up a binomial tree to participant 0, which then knows that all
 * have come, and down again; n = 6:
 *
 *	     0		up		down
 *	   / | \	1, 2, 4 -> 0	0 -> 4, 2, 1
 *	  4  2  1	5 -> 4, 3 -> 2	4 -> 5, 2 -> 3
 *	  |  |
 *	  5  3
 *
 * No payload. floor(log2 n) transfers up and as many down, about twice as long as
 * dissemination, but 2(n - 1) tokens in all instead of n ceil(log2 n): for many
 * participants behind few links (Mellor-Crummey, Scott, "Algorithms for scalable
 * synchronization", ACM TOCS 1991).
 */
#include "../../topology/knomial.h"

static int tree_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_knomial_child c;
	struct coll_knomial t;
	u32 base;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	t = coll_knomial_at(n, me, 0, 2);
	base = coll_knomial_up_rounds(&t);
	coll_emit_ready(e, &t);
	if (t.rel) {
		e->round = base + coll_knomial_down_round(&t, t.level);
		coll_emit_token(e, COLL_STEP_RECV, coll_knomial_parent(&t), 0);
	}
	for (c = coll_knomial_largest(&t); c.rel; coll_knomial_smaller(&t, &c)) {
		e->round = base + coll_knomial_down_round(&t, c.level);
		coll_emit_token(e, COLL_STEP_SEND, coll_knomial_peer(&t, c.rel),
				COLL_STEP_FENCE);
	}
	return 0;
}

static u64 tree_sent(u32 n, u32 me, u32 root)
{
	return 0;
}

static u32 tree_latency(u32 n, u32 root)
{
	return 2 * coll_log2_floor(n);
}

const struct coll_algorithm coll_barrier_tree = {
	.name = "tree",
	.id = COLL_ALG_TREE,
	.collective = COLL_BARRIER,
	.chunks = coll_one_chunk,
	.emit = tree_emit,
	.sent = tree_sent,
	.latency = tree_latency,
};
