// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Binomial-tree broadcast, in two phases: tokens up, data down.
 *
 * Participants are numbered relative to the root, r = me - root (mod n). The
 * parent of r is r without its lowest set bit; its children are r + 2^k for all
 * 2^k below that bit (the root: for all k) that are less than n. n = 6:
 *
 *	     0			tokens		data
 *	   / | \		3 -> 2, 5 -> 4	0 -> 4, 0 -> 2, 0 -> 1
 *	  4  2  1		2, 4, 1 -> 0	4 -> 5, 2 -> 3
 *	  |  |
 *	  5  3
 *
 * The tokens carry no bytes, but each frame carries the signature of the op.
 * A participant sends its token when those of its whole subtree have come, and
 * the root sends data when all have: so a rank that posted something else is
 * noticed before anybody has been told that the broadcast is over, and every
 * rank learns of it. Data alone would let the root finish and go on.
 *
 * Every participant but the root receives the vector once; r sends it to each
 * child. The depth of r is its number of set bits. The largest depth below n is
 * floor(log2 n): as many transfers up and as many down (Thakur, Rabenseifner,
 * Gropp 2005 count the rounds of the down phase, ceil(log2 n), for a sender that
 * serves one child at a time; here the sends of one participant are independent,
 * though they stand in one queue). The largest subtree goes first, since it has
 * the longest way to go.
 */
#include "../algorithms.h"

struct binomial {
	u32 n;
	u32 root;
	u32 rel;	/* me, relative to the root */
	u32 span;	/* children are rel + 2^k for 2^k < span */
};

static struct binomial binomial_at(u32 n, u32 me, u32 root)
{
	struct binomial b = { .n = n, .root = root };

	b.rel = me >= root ? me - root : me + n - root;
	b.span = b.rel ? b.rel & -b.rel : 1U << coll_log2_ceil(n);
	return b;
}

/* Participant with number @rel relative to the root. */
static u32 binomial_peer(const struct binomial *b, u32 rel)
{
	return rel < b->n - b->root ? rel + b->root : rel + b->root - b->n;
}

static u32 binomial_chunks(u32 n)
{
	return 1;
}

static int binomial_emit(struct coll_emit *e, u32 n, u32 me, u32 root)
{
	struct binomial b;
	u32 dep = COLL_DEP_NONE, levels, parent, bit;
	u8 flags = 0;

	if (!coll_emit_args_ok(n, me, root))
		return -EINVAL;
	b = binomial_at(n, me, root);
	levels = coll_log2_ceil(n);

	/* The root's sweep first: it need not wait for the tokens. */
	if (!b.rel)
		dep = coll_emit_input(e, 0, COLL_STEP_FINAL);

	for (bit = 1; bit < b.span && bit < n - b.rel; bit <<= 1) {
		e->round = coll_log2_floor(bit);
		coll_emit_token(e, COLL_STEP_RECV,
				binomial_peer(&b, b.rel + bit), 0);
	}

	if (b.rel) {
		parent = binomial_peer(&b, b.rel & (b.rel - 1));
		e->round = coll_log2_floor(b.span);
		coll_emit_token(e, COLL_STEP_SEND, parent, COLL_STEP_FENCE);
		e->round = 2 * levels - 1 - coll_log2_floor(b.span);
		dep = coll_emit_recv(e, parent, 0, COLL_ACT_COPY, COLL_STEP_FINAL);
	} else {
		flags = COLL_STEP_FENCE;
	}

	for (bit = b.span >> 1; bit; bit >>= 1) {
		e->round = 2 * levels - 1 - coll_log2_floor(bit);
		if (bit < n - b.rel)
			coll_emit_send(e, binomial_peer(&b, b.rel + bit), 0,
				       dep, flags);
	}
	return 0;
}

static u64 binomial_sent(u32 n, u32 me, u32 root)
{
	struct binomial b = binomial_at(n, me, root);
	u32 room = coll_log2_ceil(n - b.rel);	/* bits less than n - rel */
	u32 span = coll_log2_floor(b.span);

	return room < span ? room : span;
}

static u32 binomial_latency(u32 n, u32 root)
{
	return 2 * coll_log2_floor(n);
}

const struct coll_algorithm coll_broadcast_binomial = {
	.name = "binomial",
	.id = COLL_ALG_BINOMIAL,
	.collective = COLL_BROADCAST,
	.chunks = binomial_chunks,
	.emit = binomial_emit,
	.sent = binomial_sent,
	.latency = binomial_latency,
};
