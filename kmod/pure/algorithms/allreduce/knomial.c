// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * k-nomial exchange: recursive doubling with another radix. Each level every participant
 * exchanges whole vectors with the k - 1 others whose group's number differs in one
 * digit; n = 9, k = 3:
 *
 *	level 0: rows 0 1 2, 3 4 5, 6 7 8	level 1: rows 0 3 6, 1 4 7, 2 5 8
 *
 *	0 - 1 - 2		0   1   2
 *	3 - 4 - 5		|   |   |
 *	6 - 7 - 8		3   4   5
 *				|   |   |
 *				6   7   8
 *
 * All of a row fold in its order, which is the order of participants. log_k n levels instead of
 * log2 n, and k - 1 vectors sent in each: fewer transfers in a chain for more bytes. If n is no
 * power of k, a participant that does not lead a group sends one vector and gets one: up to 2
 * more transfers (Ruefenacht, Bull, Booth, "Generalisation of recursive doubling for
 * allreduce", Parallel Computing 2017). A radix above n means n, which is mesh_full.
 */
#include "../exchange.h"

#define RADIX_DEFAULT	4

static struct coll_core at(u32 n, u32 me, u32 radix)
{
	if (radix > n)
		radix = n;
	return coll_core_at(n, me, 0, radix < 2 ? 2 : radix, 0);
}

/* Enough for every radix: the number of levels for radix 2, which has the most. */
static u32 knomial_tmp(u32 n)
{
	return coll_log2_floor(n);
}

static int knomial_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct coll_core c;

	if (!coll_emit_args_ok(n, me, root) || root || e->radix == 1)
		return -EINVAL;
	c = at(n, me, e->radix ? e->radix : RADIX_DEFAULT);
	coll_emit_exchange(e, &c);
	return 0;
}

static u64 knomial_sent(u32 n, u32 me, u32 root)
{
	struct coll_core c = at(n, me, RADIX_DEFAULT);

	return coll_exchange_sent(&c);
}

static u32 knomial_latency(u32 n, u32 root)
{
	struct coll_core c = at(n, 0, RADIX_DEFAULT);

	return coll_core_latency(&c);
}

const struct coll_algorithm coll_allreduce_knomial = {
	.name = "knomial",
	.id = COLL_ALG_KNOMIAL,
	.collective = COLL_ALLREDUCE,
	.flags = COLL_ALG_TMP | COLL_ALG_LAST | COLL_ALG_ORDERED | COLL_ALG_HAS_RADIX,
	.chunks = coll_one_chunk,
	.tmp = knomial_tmp,
	.emit = knomial_emit,
	.sent = knomial_sent,
	.latency = knomial_latency,
};
