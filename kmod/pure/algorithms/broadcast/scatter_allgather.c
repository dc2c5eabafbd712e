// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Broadcast by scatter and allgather: the root scatters n chunks down a binomial tree,
 * then they go round a ring until every participant has all.
 *
 * n = 4, numbers relative to the root; cN: chunk N.
 *
 *	tokens		scatter			ring, sends to the right
 *	3 -> 2		0 -> 2: c2 c3		0: c0, c3, c2
 *	1, 2 -> 0	0 -> 1: c1		1: c1, c0	(2 has c3)
 *			2 -> 3: c3		2: c2, c1, c0
 *						3: nothing	(0 has all)
 *
 * The tokens: see algorithms/broadcast/binomial.c. In the scatter r gets the chunks of all below
 * it, r to r + span - 1; in the ring r sends chunk r - t in round t, and what the right
 * neighbour has from the scatter is left out.
 *
 * Each participant receives every chunk once: about (n - 1)/n of the vector in the
 * ring, and the root sends twice that. Against a tree, whose root sends log2 n vectors,
 * it pays from some size on (van de Geijn, "On global combine operations", 1994; Thakur,
 * Rabenseifner, Gropp 2005). The longest chain: floor(log2 n) tokens up, then the root's own
 * chunk round the ring, n - 1; the scatter goes on beside it.
 */
#include "../../topology/knomial.h"

/* How many chunks @rel has after the scatter. */
static u32 has(const struct coll_knomial *t, u32 rel)
{
	return rel ? coll_knomial_below(t, rel, rel & -rel) : t->n;
}

static void scatter(struct coll_emit *e, const struct coll_knomial *t, u32 base)
{
	struct coll_knomial_child c;

	if (t->rel) {
		e->round = base + coll_knomial_down_round(t, t->level);
		coll_emit_recv_span(e, coll_knomial_parent(t), coll_work(t->rel, has(t, t->rel)),
				    COLL_ACT_COPY, COLL_DEP_NONE, COLL_STEP_FINAL);
	}
	for (c = coll_knomial_largest(t); c.rel; coll_knomial_smaller(t, &c)) {
		e->round = base + coll_knomial_down_round(t, c.level);
		coll_emit_send_span(e, coll_knomial_peer(t, c.rel),
				    coll_work(c.rel, has(t, c.rel)), COLL_DEP_NONE,
				    COLL_STEP_FENCE);
	}
}

static void ring(struct coll_emit *e, const struct coll_knomial *t, u32 base)
{
	u32 n = t->n, right = coll_after(n, t->rel, 1), left = coll_before(n, t->rel, 1);
	u32 sends = n - has(t, right), recvs = n - has(t, t->rel), i, dep = COLL_DEP_NONE;

	for (i = 0; i < sends || i < recvs; i++) {
		e->round = base + i;
		if (i < sends)
			coll_emit_send(e, coll_knomial_peer(t, right),
				       coll_before(n, t->rel, i), dep,
				       dep == COLL_DEP_NONE ? COLL_STEP_FENCE : 0);
		dep = COLL_DEP_NONE;
		if (i < recvs)
			dep = coll_emit_recv(e, coll_knomial_peer(t, left),
					     coll_before(n, left, i), COLL_ACT_COPY,
					     COLL_STEP_FINAL);
	}
}

static int scatter_allgather_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_knomial t;
	u32 base;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	t = coll_knomial_at(n, me, root, 2);
	base = coll_knomial_up_rounds(&t);
	e->round = 0;
	if (!t.rel)
		coll_emit_inputs(e, coll_work(0, n), COLL_STEP_FINAL);
	coll_emit_ready(e, &t);
	scatter(e, &t, base);
	ring(e, &t, base + t.levels);
	return 0;
}

static u64 scatter_allgather_sent(u32 n, u32 me, u32 root)
{
	struct coll_knomial t = coll_knomial_at(n, me, root, 2);
	u64 down = has(&t, t.rel) - 1;

	return down + n - has(&t, coll_after(n, t.rel, 1));
}

static u32 scatter_allgather_latency(u32 n, u32 root)
{
	return coll_log2_floor(n) + n - 1;
}

const struct coll_algorithm coll_broadcast_scatter_allgather = {
	.name = "scatter_allgather",
	.id = COLL_ALG_SCATTER_ALLGATHER,
	.collective = COLL_BROADCAST,
	.chunks = coll_n_chunks,
	.emit = scatter_allgather_emit,
	.sent = scatter_allgather_sent,
	.latency = scatter_allgather_latency,
};
