// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rabenseifner's allreduce: reduce-scatter by recursive halving, then allgather by
 * recursive doubling. n = 4, chunks sent to whom:
 *
 *	round	1	   2	    3	     4
 *	0	2 3 > 2	   1 > 1    0 > 1    0 1 > 2
 *	1	2 3 > 3	   0 > 0    1 > 0    0 1 > 3
 *	2	0 1 > 0	   3 > 3    2 > 3    2 3 > 0
 *	3	0 1 > 1	   2 > 2    3 > 2    2 3 > 1
 *		 halves, summed	     wholes, copied
 *
 * As many chunks as groups (topology/hypercube.h; n = 5 is the same with 0 having taken the
 * vector of 1 in round 0, and giving it the result in round 5). Partners of one level are
 * the same in both phases: what one writes over in the second, the other has taken in
 * the first.
 *
 * With P groups a leader sends 2(P - 1) of P chunks, 2(P - 1)/P of the vector, in
 * 2 log2 P transfers. If n is no power of two, there are 2 transfers more, and the leader of a
 * group of two sends a vector more (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005).
 * Each chunk is summed up in one place, hence the same bits. The order is not that of
 * participants: the first partners are far apart.
 */
#include "../../topology/hypercube.h"

static struct coll_core at(u32 n, u32 me)
{
	struct coll_core c = coll_core_at(n, me, 0, 2, 0);

	c.chunks = c.nr;
	return c;
}

static u32 rabenseifner_chunks(u32 n)
{
	return 1U << coll_log2_floor(n);
}

static int rabenseifner_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;
	struct coll_chunks all;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}
	c = at(n, me);
	all = coll_work(0, c.chunks);
	coll_emit_halving(e, &c, c.me);
	if (c.rel == c.first)
		coll_emit_doubling(e, &c, c.levels + 1);
	e->round = 2 * c.levels + 1;
	if (c.rel != c.first)
		coll_emit_recv_span(e, coll_core_leader(&c, c.me), all, COLL_ACT_COPY,
				    COLL_DEP_NONE, COLL_STEP_FINAL);
	else if (c.size > 1)
		coll_emit_send_span(e, coll_core_peer(&c, c.first + 1), all, COLL_DEP_NONE,
				    COLL_STEP_FENCE);
	return 0;
}

static u64 rabenseifner_sent(u32 n, u32 me, u32 root)
{
	struct coll_core c = at(n, me);

	if (c.rel != c.first)
		return c.nr;
	return 2 * ((u64)c.nr - 1) + (c.size > 1 ? c.nr : 0);
}

static u32 rabenseifner_latency(u32 n, u32 root)
{
	u32 levels = coll_log2_floor(n);

	return 2 * levels + (n > 1U << levels ? 2 : 0);
}

const struct coll_algorithm coll_allreduce_rabenseifner = {
	.name = "rabenseifner",
	.id = COLL_ALG_RABENSEIFNER,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_ONE_PLACE,
	.chunks = rabenseifner_chunks,
	.emit = rabenseifner_emit,
	.sent = rabenseifner_sent,
	.latency = rabenseifner_latency,
};
