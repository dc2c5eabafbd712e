// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Recursive-doubling allreduce: every participant exchanges whole vectors with partners at
 * distance 1, 2, 4, ...; n = 6, with the groups (0 1) (2 3) (4) (5) of topology/hypercube.h
 * since 6 is no power of two. x-y: has the fold of participants x to y.
 *
 *	round	0	 1, 2	   3, 4	     5
 *	0	<- 1	 <-> 2     <-> 4     -> 1
 *	1	-> 0			     <- 0
 *	2	<- 3	 <-> 0	   <-> 5     -> 3
 *	3	-> 2			     <- 2
 *	4		 <-> 5	   <-> 0
 *	5		 <-> 4	   <-> 2
 *		0-1	 0-3	   0-5
 *		2-3	 4-5
 *
 * Both partners fold the lower block first: same order, same bits, and the order is
 * that of the participants. An exchange has two rounds: the lower partner sends in the first, the
 * upper one in the second. This only orders sends that share a stream: no partner waits.
 *
 * log2 n vectors sent, and as many transfers in a chain. A group of two adds a vector to its leader
 * and one back: up to 2 transfers (coll_core_latency(); Thakur, Rabenseifner, Gropp 2005;
 * Rabenseifner, "Optimization of collective reduction operations", ICCS 2004). That is the least
 * latency of all, and log2 n times the bytes of a ring: good for small vectors. TMP has a vector
 * for each level, because what was sent may be read for long after.
 */
#include "../exchange.h"

static struct coll_core at(u32 n, u32 me)
{
	return coll_core_at(n, me, 0, 2, 0);
}

static u32 recursive_doubling_tmp(u32 n)
{
	return coll_log2_floor(n);
}

static int recursive_doubling_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;

	if (!coll_emit_args_ok(n, me, root) || root)
		return -EINVAL;
	c = at(n, me);
	coll_emit_exchange(e, &c);
	return 0;
}

static u64 recursive_doubling_sent(u32 n, u32 me, u32 root)
{
	struct coll_core c = at(n, me);

	return coll_exchange_sent(&c);
}

static u32 recursive_doubling_latency(u32 n, u32 root)
{
	struct coll_core c = at(n, 0);

	return coll_core_latency(&c);
}

const struct coll_algorithm coll_allreduce_recursive_doubling = {
	.name = "recursive_doubling",
	.id = COLL_ALG_RECURSIVE_DOUBLING,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED,
	.chunks = coll_one_chunk,
	.tmp = recursive_doubling_tmp,
	.emit = recursive_doubling_emit,
	.sent = recursive_doubling_sent,
	.latency = recursive_doubling_latency,
};
