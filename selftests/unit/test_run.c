// SPDX-License-Identifier: GPL-2.0
/*
 * Schedules run on real elements, one by one, in random order: what the checker
 * proves with chunks and digests, seen with data. Nothing is shared with it.
 *
 * Messages are not copied: the receiver takes an element out of the sender's W
 * when it gets to it, which is as late as it can be. Fold is not commutative,
 * so the order of contributions shows.
 */
#include <string.h>

#include "pure/schedule.h"
#include "tap.h"

#define MAX_N		9
#define MAX_COUNT	40
#define MAX_STEPS	64

struct participant {
	struct coll_step steps[MAX_STEPS];
	u32 nr;
	u32 at[MAX_STEPS];	/* elements done */
	bool done[MAX_STEPS];	/* also of tokens, which have no elements */
	u64 input[MAX_COUNT];
	u64 w[MAX_COUNT];
	u64 output[MAX_COUNT];
	bool in_place;
};

static struct participant all[MAX_N];
static u32 nr_all, chunks, count;
static u64 rnd;

static u64 fold(u64 a, u64 b)
{
	return a * 0x9e3779b97f4a7c15ULL + b;
}

static u32 elements(const struct coll_step *s)
{
	return coll_chunk_start(count, chunks, s->chunk + s->nr_chunks) -
	       coll_chunk_start(count, chunks, s->chunk);
}

/* The k-th step of @kind towards @peer, or which one step @i is. */
static u32 find(const struct participant *p, u8 kind, u32 peer, u32 k)
{
	u32 i;

	for (i = 0; i < p->nr; i++) {
		if (p->steps[i].kind == kind && p->steps[i].peer == peer && !k--)
			return i;
	}
	abort();
}

static u32 ordinal(const struct participant *p, u32 i)
{
	u32 j, k = 0;

	for (j = 0; j < i; j++)
		k += p->steps[j].kind == p->steps[i].kind &&
		     p->steps[j].peer == p->steps[i].peer;
	return k;
}

/* May step @i of @p begin, and if so, up to which element may it go? */
static bool may_run(const struct participant *p, u32 i, u32 *limit)
{
	const struct coll_step *s = &p->steps[i];
	u32 j;

	for (j = 0; j < i; j++) {
		if (p->done[j])
			continue;
		if ((s->flags & COLL_STEP_FENCE) && p->steps[j].kind != COLL_STEP_SEND)
			return false;
		if (s->kind != COLL_STEP_LOCAL && p->steps[j].kind == s->kind &&
		    p->steps[j].peer == s->peer)
			return false;
	}
	*limit = s->dep == COLL_DEP_NONE ? elements(s) : p->at[s->dep];
	return s->dep == COLL_DEP_NONE || s->nr_chunks || p->done[s->dep];
}

static void put_element(struct participant *p, const struct coll_step *s, u32 e, u64 received)
{
	u64 *input = p->in_place ? p->w : p->input;
	u64 v;

	switch (s->action) {
	case COLL_ACT_COPY:
		v = received;
		break;
	case COLL_ACT_REDUCE_IN:
		v = fold(received, input[e]);
		break;
	case COLL_ACT_REDUCE:
		v = fold(received, p->w[e]);
		break;
	default:
		v = input[e];
	}
	p->w[e] = v;
	if (s->flags & COLL_STEP_FINAL)
		p->output[e] = v;
}

/* Move a few elements of one receive or local step; true if anything happened. */
static bool advance(u32 me, u32 i)
{
	struct participant *p = &all[me], *q = NULL;
	const struct coll_step *s = &p->steps[i];
	u32 limit, theirs, j = 0, e, few = 1 + tap_random(&rnd) % 4;

	if (p->done[i] || s->kind == COLL_STEP_SEND || !may_run(p, i, &limit))
		return false;
	if (s->kind == COLL_STEP_RECV) {
		q = &all[s->peer];
		j = find(q, COLL_STEP_SEND, me, ordinal(p, i));
		if (!may_run(q, j, &theirs))
			return false;
		limit = theirs < limit ? theirs : limit;
	}
	if (p->at[i] == limit && limit < elements(s))
		return false;
	for (; few && p->at[i] < limit; few--, p->at[i]++) {
		e = coll_chunk_start(count, chunks, s->chunk) + p->at[i];
		put_element(p, s, e, q ? q->w[e] : 0);
	}
	if (p->at[i] == elements(s)) {
		p->done[i] = true;
		if (q)
			q->done[j] = true;
	}
	return true;
}

static bool run_all(void)
{
	u32 me, i, left, idle = 0;

	for (;;) {
		me = tap_random(&rnd) % nr_all;
		if (all[me].nr && advance(me, tap_random(&rnd) % all[me].nr)) {
			idle = 0;
			continue;
		}
		if (++idle < 4 * MAX_N * MAX_STEPS)
			continue;
		/* idle for long: over, or really nothing to do? */
		left = 0;
		for (me = 0; me < nr_all; me++) {
			for (i = 0; i < all[me].nr; i++) {
				left += !all[me].done[i];
				if (advance(me, i))
					idle = 0;
			}
		}
		if (idle)
			return !left;
	}
}

/* The result by the definition of the collective and of its order. */
static u64 expected(const struct coll_algorithm *a, u32 root, u32 e)
{
	u32 c = 0, k;
	u64 v;

	if (a->collective == COLL_BROADCAST)
		return all[root].input[e];
	while (coll_chunk_start(count, chunks, c + 1) <= e)
		c++;
	v = all[c].input[e];	/* ring order, from participant c on */
	for (k = 1; k < nr_all; k++)
		v = fold(v, all[(c + k) % nr_all].input[e]);
	return v;
}

static bool one_run(const struct coll_algorithm *a, u32 root, bool in_place)
{
	struct coll_emit emit;
	u32 me, e;

	chunks = a->chunks(nr_all);
	for (me = 0; me < nr_all; me++) {
		memset(&all[me], 0, sizeof(all[me]));
		emit = (struct coll_emit){ .steps = all[me].steps, .cap = MAX_STEPS };
		if (a->emit(&emit, nr_all, me, root) || emit.nr > MAX_STEPS)
			return false;
		all[me].nr = emit.nr;
		all[me].in_place = in_place;
		for (e = 0; e < count; e++) {
			all[me].input[e] = tap_random(&rnd);
			all[me].w[e] = in_place ? all[me].input[e] : ~0ULL;
		}
	}
	if (!run_all())
		return false;
	for (me = 0; me < nr_all && a->collective != COLL_BARRIER; me++) {
		for (e = 0; e < count; e++) {
			if (all[me].output[e] != expected(a, root, e) ||
			    all[me].w[e] != all[me].output[e])
				return false;
		}
	}
	return true;
}

int main(void)
{
	const struct coll_algorithm *a;
	u32 i, k, runs;
	bool ok;

	rnd = tap_seed();
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		ok = true;
		runs = 0;
		for (nr_all = 1; nr_all <= MAX_N; nr_all++) {
			for (k = 0; k < 60 && ok; k++, runs++) {
				count = k < 3 ? k : tap_random(&rnd) % (MAX_COUNT + 1);
				ok = one_run(a, a->collective == COLL_BROADCAST ?
					     k % nr_all : 0, k & 1);
			}
		}
		tap_ok(ok, "%s: %u runs in random order, right results", a->name, runs);
	}
	return tap_done();
}
