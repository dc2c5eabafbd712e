// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "hypercube.h"

u32 coll_core_groups(u32 n, u32 radix, u32 *levels)
{
	u32 nr = 1;

	for (*levels = 0; nr <= n / radix; ++*levels)
		nr *= radix;
	return nr;
}

struct coll_core coll_core_at(u32 n, u32 me, u32 root, u32 radix, u32 chunks)
{
	struct coll_core c = { .n = n, .root = root, .radix = radix, .chunks = chunks };
	u32 each, longer;

	c.nr = coll_core_groups(n, radix, &c.levels);
	c.rel = coll_before(n, me, root);
	/* the inverse of coll_chunk_start() */
	each = n / c.nr;
	longer = n % c.nr;
	if (c.rel < longer * (each + 1))
		c.me = c.rel / (each + 1);
	else
		c.me = longer + (c.rel - longer * (each + 1)) / each;
	c.first = coll_core_first(&c, c.me);
	c.size = coll_core_first(&c, c.me + 1) - c.first;
	return c;
}

/*
 * Exchange halves with the leader @s groups away: send the partner's half, receive mine. The last
 * exchange (@s is 1) goes chunk by chunk, because only one chunk may be final here. The fence of
 * the first transfer also holds for the others: transfers on a link keep their order.
 */
static void halve(struct coll_emit *e, const struct coll_core *c, u32 s, u32 final,
		  bool fresh)
{
	u32 other = c->me ^ s, peer = coll_core_leader(c, other), dep = COLL_DEP_NONE, i;
	struct coll_chunks mine = coll_core_span(c, c->me & ~(s - 1), s);
	struct coll_chunks theirs = coll_core_span(c, other & ~(s - 1), s);
	u8 fence = fresh ? 0 : COLL_STEP_FENCE;
	u8 action = fresh ? COLL_ACT_REDUCE_IN : COLL_ACT_REDUCE;
	struct coll_chunks one;
	u8 flags;

	for (i = 0; i < (s > 1 ? 1 : theirs.nr); i++) {
		one = s > 1 ? theirs : coll_work(theirs.chunk + i, 1);
		if (fresh)
			dep = coll_emit_inputs(e, one, 0);
		coll_emit_send_span(e, peer, one, dep, i ? 0 : fence);
	}
	for (i = 0; i < (s > 1 ? 1 : mine.nr); i++) {
		one = s > 1 ? mine : coll_work(mine.chunk + i, 1);
		flags = i ? 0 : fence;
		if (s == 1 && one.chunk == final)
			flags |= COLL_STEP_FINAL;
		coll_emit_recv_span(e, peer, one, action, COLL_DEP_NONE, flags);
	}
}

void coll_emit_halving(struct coll_emit *e, const struct coll_core *c, u32 final)
{
	struct coll_chunks all = coll_work(0, c->chunks);
	u32 s;

	e->round = 0;
	if (c->rel != c->first) {
		coll_emit_send_span(e, coll_core_peer(c, c->first), all,
				    coll_emit_inputs(e, all, 0), 0);
		return;
	}
	if (c->size > 1)
		coll_emit_recv_span(e, coll_core_peer(c, c->first + 1), all,
				    COLL_ACT_REDUCE_IN, COLL_DEP_NONE, 0);
	for (s = c->nr / 2; s; s /= 2) {
		e->round++;
		halve(e, c, s, final, s == c->nr / 2 && c->size == 1);
	}
}

u64 coll_halving_sent(const struct coll_core *c)
{
	u64 sent = 0;
	u32 s;

	if (c->rel != c->first)
		return c->chunks;
	for (s = c->nr / 2; s; s /= 2)
		sent += coll_core_span(c, (c->me ^ s) & ~(s - 1), s).nr;
	return sent;
}

u32 coll_core_latency(const struct coll_core *c)
{
	u32 larger = c->n / c->nr > 1 ? c->nr : c->n % c->nr;

	if (!larger)
		return c->levels;
	return c->levels + (!c->levels || larger > c->nr / c->radix ? 2 : 1);
}

void coll_emit_doubling(struct coll_emit *e, const struct coll_core *c, u32 round)
{
	u32 s, other, peer;

	for (s = 1; s < c->nr; s *= 2, round++) {
		other = c->me ^ s;
		peer = coll_core_leader(c, other);
		e->round = round;
		coll_emit_send_span(e, peer, coll_core_span(c, c->me & ~(s - 1), s),
				    COLL_DEP_NONE, COLL_STEP_FENCE);
		coll_emit_recv_span(e, peer, coll_core_span(c, other & ~(s - 1), s),
				    COLL_ACT_COPY, COLL_DEP_NONE, COLL_STEP_FINAL);
	}
}

u64 coll_doubling_sent(const struct coll_core *c)
{
	u64 sent = 0;
	u32 s;

	for (s = 1; s < c->nr; s *= 2)
		sent += coll_core_span(c, c->me & ~(s - 1), s).nr;
	return sent;
}
