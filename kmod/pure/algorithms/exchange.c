// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The exchange of whole vectors among groups; explained in
 * algorithms/allreduce/recursive_doubling.c, used by mesh_full and knomial as well.
 *
 * At each level a participant sends A, what its block has so far, to the other
 * radix - 1 of its row, and folds theirs and its own in the order of blocks into the
 * next level's A, which lies elsewhere: A may not be touched before every participant has it,
 * and nobody says when that is. The first A is TMP[0], the last one W.
 *
 * All of a row fold from the left, so all get the same expression. That takes receives
 * one after the other: a level has a round for each participant of the row, in which that
 * one sends.
 */
#include "exchange.h"

struct exchange {
	const struct coll_core *c;
	u32 dep;	/* step that produces A */
};

static struct coll_chunks place(const struct coll_core *c, u32 level)
{
	return level < c->levels ? coll_scratch(level, 1) : coll_work(0, 1);
}

/* Rounds before the first level: a leader takes its group's vectors one by one. */
static u32 group_rounds(const struct coll_core *c)
{
	return coll_core_first(c, 1) - 1;
}

static void group_in(struct coll_emit *e, struct exchange *x)
{
	const struct coll_core *c = x->c;
	u32 i;
	u8 flags, action = COLL_ACT_REDUCE_IN;

	if (c->size == 1) {
		x->dep = coll_emit_inputs(e, place(c, 0), c->levels ? 0 : COLL_STEP_FINAL);
		return;
	}
	x->dep = COLL_DEP_NONE;
	for (i = 1; i < c->size; i++) {
		e->round = i - 1;
		flags = i == c->size - 1 && !c->levels ? COLL_STEP_FINAL : 0;
		x->dep = coll_emit_recv_span(e, coll_core_peer(c, c->first + i), place(c, 0),
					     action, x->dep, flags | COLL_STEP_LAST);
		action = COLL_ACT_REDUCE;
	}
}

/* Send A to all others of the row, which are @s groups apart; @d: my place in the row. */
static void send_row(struct coll_emit *e, const struct exchange *x, u32 level, u32 s, u32 d)
{
	const struct coll_core *c = x->c;
	u32 q;

	for (q = 0; q < c->radix; q++) {
		if (q != d)
			coll_emit_send_span(e, coll_core_leader(c, c->me - d * s + q * s),
					    place(c, level), x->dep, 0);
	}
}

/*
 * How place @d folds the vector of place @q. Places 0 and 1 fold into their own vector, which is
 * there already; other places start with the vector of place 0. They do not fold their inputs one
 * by one behind what they have received: a node with several inputs has sent the sum of these to
 * the others, and the bits would differ.
 */
static u8 recv_action(u32 q, u32 d, u8 *flags)
{
	if (d > 1 && !q)
		return COLL_ACT_COPY;
	if (q > d || d > 1)
		*flags |= COLL_STEP_LAST;
	return COLL_ACT_REDUCE;
}

static void level_rounds(struct coll_emit *e, struct exchange *x, u32 level, u32 s)
{
	const struct coll_core *c = x->c;
	u32 k = c->radix, d = c->me / s % k, round = group_rounds(c) + level * k;
	u32 q, acc = x->dep, last = d == k - 1 && d < 2 ? k - 2 : k - 1;
	struct coll_chunks from = place(c, level), to = place(c, level + 1);
	u8 flags;

	if (d < 2)
		acc = coll_emit_local(e, to, COLL_ACT_MOVE, from, acc, 0);
	for (q = 0; q < k; q++) {
		e->round = round + q;
		flags = q == last && level + 1 == c->levels ? COLL_STEP_FINAL : 0;
		if (q == d) {
			send_row(e, x, level, s, d);
			if (d > 1)
				acc = coll_emit_local(e, to, COLL_ACT_FOLD, from, acc,
						      flags | COLL_STEP_LAST);
		} else {
			u8 action = recv_action(q, d, &flags);

			acc = coll_emit_recv_span(e, coll_core_leader(c, c->me - d * s + q * s),
						  to, action, acc, flags);
		}
	}
	x->dep = acc;
}

void coll_emit_exchange(struct coll_emit *e, const struct coll_core *c)
{
	u32 end = group_rounds(c) + c->levels * c->radix, level, s, i;
	struct exchange x = { .c = c };

	if (c->rel != c->first) {
		e->round = c->rel - c->first - 1;
		coll_emit_send(e, coll_core_peer(c, c->first), 0, coll_emit_input(e, 0, 0), 0);
		e->round = end;
		coll_emit_recv(e, coll_core_peer(c, c->first), 0, COLL_ACT_COPY,
			       COLL_STEP_FINAL);
		return;
	}
	group_in(e, &x);
	for (level = 0, s = 1; level < c->levels; level++, s *= c->radix)
		level_rounds(e, &x, level, s);
	e->round = end;
	for (i = 1; i < c->size; i++)
		coll_emit_send(e, coll_core_peer(c, c->first + i), 0, x.dep, 0);
}

u64 coll_exchange_sent(const struct coll_core *c)
{
	if (c->rel != c->first)
		return 1;
	return (u64)c->levels * (c->radix - 1) + c->size - 1;
}
