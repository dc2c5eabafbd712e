// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Single root: all send their vectors to participant 0, which folds them in the order
 * of participants and sends everyone the result.
 *
 *	1   2   3	1   2   3
 *	 \  |  /	^   ^	^
 *	  v v v		 \  |  /
 *	    0		    0
 *
 * Two transfers in a chain; the root sends n - 1 vectors, the others one: 2 D (n - 1)
 * bytes in all, all of them through one participant (the textbook's "single root").
 */
#include "../algorithms.h"

static int root_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	u32 i, dep = COLL_DEP_NONE;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	if (n == 1) {
		coll_emit_input(e, 0, COLL_STEP_FINAL);
		return 0;
	}

	e->round = me ? me - 1 : 0;
	if (me) {
		coll_emit_send(e, 0, 0, coll_emit_input(e, 0, 0), 0);
		e->round = n - 1;
		coll_emit_recv(e, 0, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
		return 0;
	}
	for (i = 1; i < n; i++) {
		e->round = i - 1;
		dep = coll_emit_recv_span(e, i, coll_work(0, 1),
					  i == 1 ? COLL_ACT_REDUCE_IN : COLL_ACT_REDUCE, dep,
					  COLL_STEP_LAST | (i == n - 1 ? COLL_STEP_FINAL : 0));
	}
	e->round = n - 1;
	for (i = 1; i < n; i++)
		coll_emit_send(e, i, 0, dep, 0);
	return 0;
}

static u64 root_sent(u32 n, u32 me, u32 root)
{
	return me ? 1 : n - 1;
}

static u32 root_latency(u32 n, u32 root)
{
	return n > 1 ? 2 : 0;
}

const struct coll_algorithm coll_allreduce_root = {
	.name = "root",
	.id = COLL_ALG_ROOT,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_LAST | COLL_ALG_ORDERED | COLL_ALG_ONE_PLACE,
	.chunks = coll_one_chunk,
	.emit = root_emit,
	.sent = root_sent,
	.latency = root_latency,
};
