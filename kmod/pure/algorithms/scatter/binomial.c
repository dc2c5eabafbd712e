// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Binomial scatter: down the tree, each gets its block and those of all below it. n = 6,
 * numbers relative to the root:
 *
 *	     0		round 0: 4 5 -> 4
 *	   / | \	round 1: 2 3 -> 2
 *	  4  2  1	round 2: 1 -> 1, 3 -> 3, 5 -> 5
 *	  |  |
 *	  5  3
 *
 * floor(log2 n) transfers, where the root of a linear one has n - 1 messages to
 * send; but most blocks travel more than once (Thakur, Rabenseifner, Gropp 2005). A
 * participant's own block comes alone, because it is final and the others are not.
 */
#include "../../topology/knomial.h"

/* Send to the child @rel: its block, then the others; the root sends from its input. */
static void pass_on(struct coll_emit *e, const struct coll_knomial *t, u32 rel, u64 span)
{
	u32 to = coll_knomial_peer(t, rel), below = coll_knomial_below(t, rel, span) - 1;
	struct coll_chunks own = coll_work(to, 1), rest = coll_work(coll_after(t->n, to, 1), below);
	u8 flags = t->rel ? COLL_STEP_FENCE : 0;

	if (!t->rel) {
		own.space = COLL_SPACE_INPUT;
		rest.space = COLL_SPACE_INPUT;
	}
	coll_emit_send_span(e, to, own, COLL_DEP_NONE, flags);
	if (below)
		coll_emit_send_circle(e, to, t->n, rest, flags);
}

static int binomial_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_knomial_child c;
	struct coll_knomial t;
	u32 below;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	t = coll_knomial_at(n, me, root, 2);
	e->round = 0;
	if (t.rel) {
		e->round = coll_knomial_down_round(&t, t.level);
		below = coll_knomial_below(&t, t.rel, t.span) - 1;
		coll_emit_recv(e, coll_knomial_parent(&t), me, COLL_ACT_COPY, COLL_STEP_FINAL);
		if (below)
			coll_emit_recv_circle(e, coll_knomial_parent(&t), n,
					      coll_work(coll_after(n, me, 1), below), 0);
	} else {
		coll_emit_input(e, me, COLL_STEP_FINAL);
	}
	for (c = coll_knomial_largest(&t); c.rel; coll_knomial_smaller(&t, &c)) {
		e->round = coll_knomial_down_round(&t, c.level);
		pass_on(e, &t, c.rel, c.span);
	}
	return 0;
}

static u64 binomial_sent(u32 n, u32 me, u32 root)
{
	struct coll_knomial t = coll_knomial_at(n, me, root, 2);

	return (t.rel ? coll_knomial_below(&t, t.rel, t.span) : n) - 1;
}

static u32 binomial_latency(u32 n, u32 root)
{
	return coll_log2_floor(n);
}

const struct coll_algorithm coll_scatter_binomial = {
	.name = "binomial",
	.id = COLL_ALG_BINOMIAL,
	.collective = COLL_SCATTER,
	.flags = COLL_ALG_RANKS | COLL_ALG_INPUT,
	.chunks = coll_n_chunks,
	.emit = binomial_emit,
	.sent = binomial_sent,
	.latency = binomial_latency,
};
