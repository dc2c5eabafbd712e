// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checker: one run of all participants, as fast as events allow.
 */
#include "check_priv.h"

/*
 * With rendezvous a send and its receive happen together: their waits are
 * counted on the send.
 */
static u32 event_of(const struct check *k, u32 x)
{
	return !k->c->link_slots && is_recv(k, x) ? step_pair(k, x) : x;
}

static void enable(struct check *k, u32 x, u32 *tail)
{
	u32 e = event_of(k, x);

	if (--k->pending[e])
		return;
	k->order[(*tail)++] = e;
	if (!k->c->link_slots && is_send(k, e))
		k->order[(*tail)++] = step_pair(k, e);
}

static u32 max32(u32 a, u32 b)
{
	return a > b ? a : b;
}

/*
 * Let the fences of participant @p pass that can. The cursor stands on the first
 * receive or local step that is not complete; what stands at or before it has
 * been let through, with the level of all before it.
 */
static void move_cursor(struct check *k, u32 p, u32 *tail)
{
	u32 x = k->cursor[p];

	for (; x < k->base[p + 1]; x++) {
		if (!(k->done[x] & 2) && (k->steps[x].flags & COLL_STEP_FENCE)) {
			k->done[x] |= 2;
			k->level[x] = k->fence_level[p];
			enable(k, x, tail);
		}
		if (is_send(k, x))
			continue;
		if (!(k->done[x] & 1))
			break;
		k->fence_level[p] = max32(k->fence_level[p], k->level[x]);
	}
	k->cursor[p] = x;
}

/* What every step waits for, plus one that start() takes away. */
static void count_waits(struct check *k)
{
	u32 x, dep;
	u8 waits;

	memset(k->pending, 0, k->nr);
	memset(k->done, 0, k->nr);
	memset(k->level, 0, k->nr * sizeof(u32));
	for (x = 0; x < k->nr; x++)
		k->dep_head[x] = NONE;
	for (x = 0; x < k->nr; x++) {
		waits = 1;
		dep = step_dep(k, x);
		if (dep != NONE) {
			waits++;
			k->dep_next[x] = k->dep_head[dep];
			k->dep_head[dep] = x;
		}
		if (k->steps[x].flags & COLL_STEP_FENCE)
			waits++;
		if (k->steps[x].kind != COLL_STEP_LOCAL && link_prev(k, x) != NONE)
			waits++;
		if (is_recv(k, x) && k->c->link_slots)
			waits++;
		k->pending[event_of(k, x)] += waits;
	}
}

/*
 * A link with one slot: the next send may go when this message has been taken.
 * Otherwise the next send follows this one.
 */
static void complete(struct check *k, u32 x, u32 *tail)
{
	u32 dep = step_dep(k, x), y;

	if (dep != NONE)
		k->level[x] = max32(k->level[x], k->level[dep]);
	if (is_recv(k, x))
		k->level[x] = max32(k->level[x], k->level[step_pair(k, x)]);
	if (is_send(k, x))
		k->level[x]++;
	k->c->latency = max32(k->c->latency, k->level[x]);
	k->done[x] |= 1;

	for (y = k->dep_head[x]; y != NONE; y = k->dep_next[y])
		enable(k, y, tail);
	if (is_recv(k, x)) {
		y = link_next(k, x);
		if (y != NONE)
			enable(k, y, tail);
		y = k->c->link_slots ? link_next(k, step_pair(k, x)) : NONE;
		if (y != NONE)
			enable(k, y, tail);
	}
	if (is_send(k, x)) {
		y = k->c->link_slots ? step_pair(k, x) : link_next(k, x);
		if (y != NONE)
			enable(k, y, tail);
	}
	if (!is_send(k, x) && k->cursor[k->owner[x]] == x)
		move_cursor(k, k->owner[x], tail);
}

int check_run(struct check *k)
{
	u32 head = 0, tail = 0, x, p;

	k->c->latency = 0;
	count_waits(k);
	for (p = 0; p < k->n; p++) {
		k->cursor[p] = k->base[p];
		k->fence_level[p] = 0;
		move_cursor(k, p, &tail);
	}
	for (x = 0; x < k->nr; x++)
		enable(k, x, &tail);
	while (head < tail)
		complete(k, k->order[head++], &tail);

	for (x = 0; x < k->nr; x++) {
		if (!(k->done[x] & 1))
			return check_fail(k, x, "deadlock");
	}
	if (k->c->latency != k->c->alg->latency(k->n))
		return check_fail_at(k, 0, "longest chain differs from the formula");
	return 0;
}

static void learn(struct check *k, u64 *to, u32 y)
{
	u32 w;

	for (w = 0; w < k->words; w++)
		to[w] |= k->know[(u64)y * k->words + w];
}

static bool all_known(const struct check *k, const u64 *set)
{
	u32 p;

	for (p = 0; p < k->n; p++) {
		if (!(set[p / 64] >> p % 64 & 1))
			return false;
	}
	return true;
}

/* Follow the order of the run: what a step waits for has completed before it. */
static int spread(struct check *k)
{
	u32 i, x, y, p;
	u64 *set;

	for (i = 0; i < k->nr; i++) {
		x = k->order[i];
		p = k->owner[x];
		set = k->know + (u64)x * k->words;
		memset(set, 0, k->words * sizeof(u64));
		set[p / 64] |= 1ULL << p % 64;
		if (step_dep(k, x) != NONE)
			learn(k, set, step_dep(k, x));
		if (is_recv(k, x))
			learn(k, set, step_pair(k, x));
		if (k->steps[x].flags & COLL_STEP_FENCE) {
			for (y = k->base[p]; y < x; y++) {
				if (!is_send(k, y))
					learn(k, set, y);
			}
		}
		if (is_send(k, x) && k->steps[x].nr_chunks && !all_known(k, set))
			return check_fail(k, x, "payload moves before all have started");
	}
	return 0;
}

/*
 * Who is known to have started, at each step. Not needed where each result is
 * made of everybody's contribution.
 */
int check_started(struct check *k)
{
	int err = spread(k);
	u32 p, x;

	if (err)
		return err;
	for (p = 0; p < k->n; p++) {
		memset(k->know_end, 0, k->words * sizeof(u64));
		k->know_end[p / 64] |= 1ULL << p % 64;
		for (x = k->base[p]; x < k->base[p + 1]; x++)
			learn(k, k->know_end, x);
		if (!all_known(k, k->know_end))
			return check_fail_at(k, p, "is through before all have started");
	}
	return 0;
}
