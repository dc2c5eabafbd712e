// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rabenseifner's reduce: reduce-scatter by recursive halving (algorithms/allreduce/rabenseifner.c),
 * then the sums are gathered at the root up a binomial tree. n = 4, numbers relative to
 * the root, chunks sent to whom:
 *
 *	round	1	   2	    3	     4
 *	0	2 3 > 2	   1 > 1
 *	1	2 3 > 3	   0 > 0    1 > 0
 *	2	0 1 > 0	   3 > 3	     2 3 > 0
 *	3	0 1 > 1	   2 > 2    3 > 2
 *
 * A participant that does not lead a group gives its vector to its leader in round 0 and is
 * done; the root leads one, since it has number 0. With P groups 2 log2 P transfers, one more
 * if n is no power of two; a leader sends (P - 1) of P chunks, and then once what it has
 * gathered (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005). Not in the order of
 * participants.
 */
#include "../../topology/hypercube.h"

static struct coll_core at(u32 n, u32 me, u32 root)
{
	struct coll_core c = coll_core_at(n, me, root, 2, 0);

	c.chunks = c.nr;
	return c;
}

static u32 rabenseifner_chunks(u32 n)
{
	return 1U << coll_log2_floor(n);
}

static void gather(struct coll_emit *e, const struct coll_core *c)
{
	u32 s;

	for (s = 1; s < c->nr; s *= 2) {
		e->round++;
		if (c->me & s) {
			coll_emit_send_span(e, coll_core_leader(c, c->me - s),
					    coll_core_span(c, c->me, s), COLL_DEP_NONE,
					    COLL_STEP_FENCE);
			return;
		}
		coll_emit_recv_span(e, coll_core_leader(c, c->me + s),
				    coll_core_span(c, c->me + s, s), COLL_ACT_COPY,
				    COLL_DEP_NONE, c->me ? 0 : COLL_STEP_FINAL);
	}
}

static int rabenseifner_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}
	c = at(n, me, root);
	coll_emit_halving(e, &c, me == root ? 0 : COLL_DEP_NONE);
	if (c.rel == c.first)
		gather(e, &c);
	return 0;
}

static u64 rabenseifner_sent(u32 n, u32 me, u32 root)
{
	struct coll_core c = at(n, me, root);

	if (c.rel != c.first)
		return c.nr;
	return c.nr - 1 + (c.me & -c.me);
}

static u32 rabenseifner_latency(u32 n, u32 root)
{
	u32 levels = coll_log2_floor(n);

	return 2 * levels + (n > 1U << levels);
}

const struct coll_algorithm coll_reduce_rabenseifner = {
	.name = "rabenseifner",
	.id = COLL_ALG_RABENSEIFNER,
	.collective = COLL_REDUCE,
	.chunks = rabenseifner_chunks,
	.emit = rabenseifner_emit,
	.sent = rabenseifner_sent,
	.latency = rabenseifner_latency,
};
