// SPDX-License-Identifier: GPL-2.0
/*
 * Schedules run on real elements, one by one, in random order: what the checker
 * proves with chunks and digests, seen with data. Nothing is shared with it.
 *
 * Messages are not copied: the receiver takes an element out of the sender's memory
 * when it gets to it, which is as late as it can be. In every third run all transfers
 * share one stream, and take turns as schedule.h says. The operator does not commute
 * where the algorithm promises an order. Blocks are of all sizes, also empty.
 */
#include <string.h>

#include "pure/algorithms/table.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_N		9
#define MAX_CHUNK	24	/* elements */
#define MAX_TMP		32	/* chunks */
#define MAX_STEPS	160

struct participant {
	struct coll_step steps[MAX_STEPS];
	u32 nr;
	u32 at[MAX_STEPS];	/* elements done */
	bool done[MAX_STEPS];	/* also of tokens, which have no elements */
	u64 input[MAX_N][MAX_CHUNK];
	u64 w[MAX_N][MAX_CHUNK];
	u64 tmp[MAX_TMP][MAX_CHUNK];
	u64 output[MAX_N][MAX_CHUNK];
	bool is_final[MAX_N];
};

static struct participant all[MAX_N];
static const struct coll_algorithm *alg;
static u32 nr_all, chunks, root;
static u32 size_of[MAX_N][MAX_N];	/* alltoall: from, to; else the first row only */
static bool in_place, one_stream;
static u64 rnd;

/* Composition of x -> a x + b: associative, and the order matters. Or a sum. */
static u64 fold(u64 f, u64 g)
{
	u32 a = (u32)f * (u32)g, b = (f >> 32) * (u32)g + (g >> 32);

	return alg->flags & COLL_ALG_ORDERED ? (u64)b << 32 | a : f + g;
}

static u32 chunk_size(u32 me, u32 space, u32 chunk)
{
	if (alg->collective != COLL_ALLTOALL)
		return size_of[0][chunk % chunks];
	return space == COLL_SPACE_INPUT ? size_of[me][chunk % chunks] :
					   size_of[chunk % chunks][me];
}

static u32 elements(u32 me, const struct coll_step *s)
{
	u32 i, sum = 0;

	for (i = 0; i < s->nr_chunks; i++)
		sum += chunk_size(me, s->space, s->chunk + i);
	return sum;
}

/* Element @e of a range that begins with @chunk; which chunk it is in, to @found. */
static u64 *element(struct participant *p, u32 space, u32 chunk, u32 e, u32 *found)
{
	u32 me = p - all;

	for (; e >= chunk_size(me, space, chunk); chunk++)
		e -= chunk_size(me, space, chunk);
	*found = chunk;
	switch (space) {
	case COLL_SPACE_TMP:
		return &p->tmp[chunk][e];
	case COLL_SPACE_INPUT:
		return in_place ? &p->w[chunk][e] : &p->input[chunk][e];
	default:
		return &p->w[chunk][e];
	}
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
	*limit = s->dep == COLL_DEP_NONE ? elements(p - all, s) : p->at[s->dep];
	return s->dep == COLL_DEP_NONE || s->nr_chunks || p->done[s->dep];
}

/* On one stream: is it the turn of this send, by (round, sender, receiver)? */
static bool is_turn(u32 sender, const struct coll_step *s)
{
	const struct coll_step *t;
	u32 p, i;

	for (p = 0; p < nr_all && one_stream; p++) {
		for (i = 0; i < all[p].nr; i++) {
			t = &all[p].steps[i];
			if (t->kind != COLL_STEP_SEND || all[p].done[i])
				continue;
			if (t->round < s->round ||
			    (t->round == s->round && (p < sender ||
			     (p == sender && t->peer < s->peer))))
				return false;
		}
	}
	return true;
}

static u64 new_value(struct participant *p, const struct coll_step *s, u32 e, u64 here,
		     u64 received)
{
	bool moves_input = s->action == COLL_ACT_MOVE && s->from_space == COLL_SPACE_INPUT;
	u32 c, first = moves_input ? s->from : s->chunk % chunks;
	u64 input = 0, from = 0, x, y;

	if (s->action == COLL_ACT_REDUCE_IN || s->action == COLL_ACT_INPUT ||
	    s->action == COLL_ACT_FOLD_INPUT || moves_input)
		input = *element(p, COLL_SPACE_INPUT, first, e, &c);
	else if (s->action >= COLL_ACT_FOLD)
		from = *element(p, s->from_space, s->from, e, &c);

	switch (s->action) {
	case COLL_ACT_COPY:
		return received;
	case COLL_ACT_INPUT:
		return input;
	case COLL_ACT_MOVE:
		return moves_input ? input : from;
	case COLL_ACT_REDUCE_IN:
		x = received;
		y = input;
		break;
	case COLL_ACT_REDUCE:
		x = received;
		y = here;
		break;
	case COLL_ACT_FOLD_INPUT:
		x = input;
		y = here;
		break;
	default:
		x = from;
		y = here;
	}
	return s->flags & COLL_STEP_LAST ? fold(y, x) : fold(x, y);
}

static void put_element(struct participant *p, const struct coll_step *s, u32 e, u64 received)
{
	u32 chunk, c;
	u64 *here = element(p, s->space, s->chunk, e, &chunk);

	*here = new_value(p, s, e, *here, received);
	if (s->flags & COLL_STEP_FINAL)
		p->output[chunk][here - element(p, s->space, chunk, 0, &c)] = *here;
}

static void finish(struct participant *p, u32 i)
{
	const struct coll_step *s = &p->steps[i];
	u32 c;

	p->done[i] = true;
	for (c = 0; c < s->nr_chunks && (s->flags & COLL_STEP_FINAL); c++)
		p->is_final[s->chunk + c] = true;
}

/* Move a few elements of one receive or local step; true if anything happened. */
static bool advance(u32 me, u32 i)
{
	struct participant *p = &all[me], *q = NULL;
	const struct coll_step *s = &p->steps[i], *t = NULL;
	u32 limit, theirs, j = 0, c, few = 1 + tap_random(&rnd) % 6;

	if (p->done[i] || s->kind == COLL_STEP_SEND || !may_run(p, i, &limit))
		return false;
	if (s->kind == COLL_STEP_RECV) {
		q = &all[s->peer];
		j = find(q, COLL_STEP_SEND, me, ordinal(p, i));
		t = &q->steps[j];
		if (!may_run(q, j, &theirs) || !is_turn(s->peer, t))
			return false;
		limit = theirs < limit ? theirs : limit;
	}
	if (p->at[i] == limit && limit < elements(me, s))
		return false;
	for (; few && p->at[i] < limit; few--, p->at[i]++)
		put_element(p, s, p->at[i],
			    q ? *element(q, t->space, t->chunk, p->at[i], &c) : 0);
	if (p->at[i] == elements(me, s)) {
		finish(p, i);
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
		if (++idle < 100)
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

/* The inputs of participants @first to @last, in their order. */
static u64 sum(u32 first, u32 last, u32 chunk, u32 e)
{
	u64 v = all[first].input[chunk][e];

	while (first < last)
		v = fold(v, all[++first].input[chunk][e]);
	return v;
}

/* Return: whether @me has this chunk in its outputs. @v: what its element @e should be. */
static bool expected(u32 me, u32 chunk, u32 e, u64 *v)
{
	switch (alg->collective) {
	case COLL_BARRIER:
		return false;
	case COLL_BROADCAST:
		*v = all[root].input[chunk][e];
		return true;
	case COLL_REDUCE:
		*v = sum(0, nr_all - 1, chunk, e);
		return me == root;
	case COLL_ALLREDUCE:
		*v = sum(0, nr_all - 1, chunk, e);
		return true;
	case COLL_REDUCE_SCATTER:
		*v = sum(0, nr_all - 1, chunk, e);
		return me == chunk;
	case COLL_ALLGATHER:
	case COLL_GATHER:
		*v = all[chunk].input[chunk][e];
		return alg->collective == COLL_ALLGATHER || me == root;
	case COLL_SCATTER:
		*v = all[root].input[chunk][e];
		return me == chunk;
	case COLL_ALLTOALL:
		*v = all[chunk].input[me][e];
		return true;
	case COLL_SCAN:
		*v = sum(0, me, chunk, e);
		return true;
	case COLL_EXSCAN:
		if (me)
			*v = sum(0, me - 1, chunk, e);
		return me;
	}
	abort();
}

static bool has_blocks(void)
{
	switch (alg->collective) {
	case COLL_REDUCE_SCATTER: case COLL_ALLGATHER: case COLL_GATHER: case COLL_SCATTER:
	case COLL_ALLTOALL:
		return !(alg->flags & COLL_ALG_EQUAL);
	}
	return false;
}

static void choose_sizes(u32 k)
{
	u32 count = k < 3 ? k : tap_random(&rnd) % (MAX_CHUNK + 1), i, j;

	chunks = alg->chunks(nr_all);
	for (i = 0; i < MAX_N; i++) {
		for (j = 0; j < MAX_N; j++) {
			if (has_blocks())
				size_of[i][j] = tap_random(&rnd) % (1 + count / 2);
			else if (alg->flags & COLL_ALG_EQUAL)
				size_of[i][j] = count / 4;
			else
				size_of[i][j] = j < chunks ?
					coll_chunk_start(count, chunks, j + 1) -
					coll_chunk_start(count, chunks, j) : 0;
		}
	}
}

static bool prepare(u32 radix)
{
	struct participant *p;
	struct coll_emit emit;
	u32 me, c, e;

	if (chunks > MAX_N || (alg->tmp && alg->tmp(nr_all) > MAX_TMP))
		return false;
	for (me = 0; me < nr_all; me++) {
		p = &all[me];
		memset(p, 0, sizeof(*p));
		memset(p->w, 0xee, sizeof(p->w));
		memset(p->tmp, 0xdd, sizeof(p->tmp));
		emit = (struct coll_emit){ .steps = p->steps, .cap = MAX_STEPS, .radix = radix };
		if (alg->emit(&emit, nr_all, me, root) || emit.nr > MAX_STEPS)
			return false;
		p->nr = emit.nr;
		for (c = 0; c < MAX_N; c++) {
			for (e = 0; e < MAX_CHUNK; e++)
				p->input[c][e] = tap_random(&rnd) | 1;
		}
		if (in_place)
			memcpy(p->w, p->input, sizeof(p->w));
	}
	return true;
}

static bool verify(void)
{
	u32 me, c, e;
	u64 v = 0;

	for (me = 0; me < nr_all; me++) {
		for (c = 0; c < chunks; c++) {
			if (expected(me, c, 0, &v) != all[me].is_final[c])
				return false;
			for (e = 0; e < chunk_size(me, COLL_SPACE_WORK, c); e++) {
				if (!expected(me, c, e, &v))
					break;
				if (all[me].output[c][e] != v || all[me].w[c][e] != v)
					return false;
			}
		}
	}
	return true;
}

static bool test_size(u32 nr_runs)
{
	bool rooted = alg->collective == COLL_BROADCAST || alg->collective == COLL_REDUCE ||
		      alg->collective == COLL_GATHER || alg->collective == COLL_SCATTER;
	/* W of these is never where an input is */
	bool apart = alg->collective == COLL_ALLTOALL || alg->collective == COLL_SCATTER ||
		     alg->collective == COLL_REDUCE_SCATTER;
	static const u32 radices[] = { 0, 2, 3, 5, 7 };
	u32 k;

	for (k = 0; k < nr_runs; k++) {
		root = rooted ? k % nr_all : 0;
		in_place = k & 1 && !apart;
		one_stream = !(k % 3);
		choose_sizes(k);
		if (!prepare(alg->id == COLL_ALG_KNOMIAL ? radices[k % COUNT(radices)] : 0) ||
		    !run_all() || !verify()) {
			printf("# n %u run %u root %u%s%s\n", nr_all, k, root,
			       in_place ? ", in place" : "", one_stream ? ", one stream" : "");
			return false;
		}
	}
	return true;
}

int main(void)
{
	u32 i, runs = 40;
	bool ok;

	rnd = tap_seed();
	for (i = 0; (alg = coll_algorithm_at(i)); i++) {
		ok = true;
		for (nr_all = 1; nr_all <= MAX_N && ok; nr_all++)
			ok = test_size(runs);
		tap_ok(ok, "%s %u: %u runs in random order, right results", alg->name,
		       alg->collective, MAX_N * runs);
	}
	return tap_done();
}
