// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "knomial.h"

struct coll_knomial coll_knomial_at(u32 n, u32 me, u32 root, u32 radix)
{
	struct coll_knomial t = { .n = n, .root = root, .radix = radix, .span = 1 };
	u64 span;

	t.rel = coll_before(n, me, root);
	while (t.span < n && !(t.rel / t.span % radix)) {
		t.span *= radix;
		t.level++;
	}
	t.digit = t.rel / t.span % radix;
	for (span = 1; span < n; span *= radix)
		t.levels++;
	return t;
}

/* Skip places without a participant. */
static void settle(const struct coll_knomial *t, struct coll_knomial_child *c, bool down)
{
	while (c->span && c->span < t->span) {
		if (c->digit < t->radix && c->digit * c->span < t->n - t->rel) {
			c->rel = t->rel + c->digit * (u32)c->span;
			return;
		}
		if (down && !c->level)
			break;
		c->span = down ? c->span / t->radix : c->span * t->radix;
		c->level += down ? -1 : 1;
		c->digit = 1;
	}
	c->rel = 0;
}

struct coll_knomial_child coll_knomial_nearest(const struct coll_knomial *t)
{
	struct coll_knomial_child c = { .digit = 1, .span = 1 };

	settle(t, &c, false);
	return c;
}

void coll_knomial_further(const struct coll_knomial *t, struct coll_knomial_child *c)
{
	c->digit++;
	settle(t, c, false);
}

struct coll_knomial_child coll_knomial_largest(const struct coll_knomial *t)
{
	struct coll_knomial_child c = { .digit = 1, .span = t->span / t->radix };

	c.level = t->level - 1;		/* of no use if the span is 0 */
	settle(t, &c, true);
	return c;
}

void coll_knomial_smaller(const struct coll_knomial *t, struct coll_knomial_child *c)
{
	c->digit++;
	settle(t, c, true);
}

void coll_emit_ready(struct coll_emit *e, const struct coll_knomial *t)
{
	struct coll_knomial_child c;

	for (c = coll_knomial_nearest(t); c.rel; coll_knomial_further(t, &c)) {
		e->round = coll_knomial_up_round(t, c.level, c.digit);
		coll_emit_token(e, COLL_STEP_RECV, coll_knomial_peer(t, c.rel), 0);
	}
	if (t->rel) {
		e->round = coll_knomial_up_round(t, t->level, t->digit);
		coll_emit_token(e, COLL_STEP_SEND, coll_knomial_parent(t), COLL_STEP_FENCE);
	}
}

u32 coll_knomial_children(const struct coll_knomial *t)
{
	struct coll_knomial_child c;
	u32 nr = 0;

	for (c = coll_knomial_nearest(t); c.rel; coll_knomial_further(t, &c))
		nr++;
	return nr;
}

/*
 * The most digits that are not 0 in a number below @n: all of them, if 11...1 is not
 * too large.
 */
u32 coll_knomial_height(u32 n, u32 radix)
{
	u64 ones = 0, span;
	u32 digits = 0;

	for (span = 1; span < n; span *= radix) {
		ones += span;
		digits++;
	}
	return digits && ones > n - 1 ? digits - 1 : digits;
}
