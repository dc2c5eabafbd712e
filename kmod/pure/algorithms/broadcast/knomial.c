// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * k-nomial broadcast: algorithms/broadcast/binomial.c with another radix. n = 8, k = 4, the tree
 * of topology/knomial.h:
 *
 *		0		tokens		    data
 *	     / / \ \		5, 6, 7 -> 4	    0 -> 4, 1, 2, 3
 *	    4 1   2 3		1, 2, 3, 4 -> 0	    4 -> 5, 6, 7
 *	   /|\
 *	  5 6 7
 *
 * A transfer for each digit that is not 0: about log_k n up and as many down, for up
 * to k - 1 vectors sent at each place (k = 2 is the binomial tree; Ruefenacht, Bull,
 * Booth 2017 for the trade).
 */
#include "../../topology/knomial.h"

static struct coll_knomial at(u32 n, u32 me, u32 root, u32 radix)
{
	if (radix > n)
		radix = n;
	return coll_knomial_at(n, me, root, radix < 2 ? 2 : radix);
}

static int knomial_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 dep = COLL_DEP_NONE, base;
	struct coll_knomial_child c;
	struct coll_knomial t;

	if (!coll_emit_args_ok(n, me, root) || e->radix == 1)
		return -EINVAL;
	t = at(n, me, root, e->radix ? e->radix : COLL_RADIX_DEFAULT);
	base = coll_knomial_up_rounds(&t);

	e->round = 0;
	if (!t.rel)
		dep = coll_emit_input(e, 0, COLL_STEP_FINAL);
	coll_emit_ready(e, &t);
	if (t.rel) {
		e->round = base + coll_knomial_down_round(&t, t.level);
		dep = coll_emit_recv(e, coll_knomial_parent(&t), 0, COLL_ACT_COPY,
				     COLL_STEP_FINAL);
	}
	for (c = coll_knomial_largest(&t); c.rel; coll_knomial_smaller(&t, &c)) {
		e->round = base + coll_knomial_down_round(&t, c.level);
		coll_emit_send(e, coll_knomial_peer(&t, c.rel), 0, dep,
			       t.rel ? 0 : COLL_STEP_FENCE);
	}
	return 0;
}

static u64 knomial_sent(u32 n, u32 me, u32 root)
{
	struct coll_knomial t = at(n, me, root, COLL_RADIX_DEFAULT);

	return coll_knomial_children(&t);
}

static u32 knomial_latency(u32 n, u32 root)
{
	struct coll_knomial t = at(n, root, root, COLL_RADIX_DEFAULT);

	return 2 * coll_knomial_height(n, t.radix);
}

const struct coll_algorithm coll_broadcast_knomial = {
	.name = "knomial",
	.id = COLL_ALG_KNOMIAL,
	.collective = COLL_BROADCAST,
	.flags = COLL_ALG_HAS_RADIX,
	.chunks = coll_one_chunk,
	.emit = knomial_emit,
	.sent = knomial_sent,
	.latency = knomial_latency,
};
