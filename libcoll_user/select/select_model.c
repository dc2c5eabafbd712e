// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The cost of a schedule. A participant sends one message after the other, and at the same time
 * receives one after the other. Messages that are on their way overlap. A step forwards data in
 * segments, as the executor does. This is Hockney's model with the overhead of LogP. In addition
 * there is a lower bound: the messages and bytes of all participants together use the switch or
 * the processors that they share.
 */
#include <stdlib.h>

#include "collective.h"
#include "select_model.h"

/* Up to this many participants are simulated. With more that would take longer than coll_init(). */
#define EXACT		32

struct timing {
	double begin;		/* the step begins */
	double first;		/* its first segment is there */
	double last;		/* all of it is */
};

/**
 * struct sim - all steps of all participants
 * @base: first step of each participant
 * @owner: participant of each step
 * @pair: of a receive: its send
 * @order: steps, each one behind the steps that it waits for
 * @rank: sort key of each step for @order
 * @out_free: time at which a participant may send again
 * @in_free: time at which a participant may receive again
 */
struct sim {
	const struct select_model *m;
	u32 n, chunks, nr;
	u64 bytes;
	double part;
	struct coll_step *steps;
	struct timing *t;
	u32 *base, *owner, *pair, *order, *rank;
	double *out_free, *in_free;
};

static double dmax(double a, double b)
{
	return a > b ? a : b;
}

static double step_bytes(const struct coll_step *s, u64 bytes, u32 chunks)
{
	u32 first = s->chunk % chunks;

	/* TMP repeats the chunk sizes of the vector. */
	if (first + s->nr_chunks > chunks)
		return (double)bytes * s->nr_chunks / chunks;
	return (double)(coll_chunk_start(bytes, chunks, first + s->nr_chunks) -
			coll_chunk_start(bytes, chunks, first));
}

static bool folds(const struct coll_step *s)
{
	return s->action == COLL_ACT_REDUCE || s->action == COLL_ACT_REDUCE_IN ||
	       s->action == COLL_ACT_FOLD || s->action == COLL_ACT_FOLD_INPUT;
}

static void free_sim(struct sim *x)
{
	free(x->steps);
	free(x->t);
	free(x->base);
	free(x->out_free);
}

static int load(struct sim *x, const struct coll_algorithm *a)
{
	struct coll_emit e;
	u32 p, i;

	x->base = calloc(x->n + 1, sizeof(*x->base));
	x->out_free = calloc(2 * (size_t)x->n, sizeof(*x->out_free));
	if (!x->base || !x->out_free)
		return -ENOMEM;
	x->in_free = x->out_free + x->n;
	for (p = 0; p < x->n; p++) {
		e = (struct coll_emit){ 0 };
		if (a->emit(&e, x->n, p, 0))
			return -EINVAL;
		x->base[p + 1] = x->base[p] + e.nr;
	}
	x->nr = x->base[x->n];
	x->steps = calloc(x->nr + 1, sizeof(*x->steps));
	/* One allocation for all arrays by step. */
	x->t = calloc(x->nr + 1, sizeof(*x->t) + 4 * sizeof(u32));
	if (!x->steps || !x->t)
		return -ENOMEM;
	x->owner = (u32 *)(x->t + x->nr + 1);
	x->pair = x->owner + x->nr;
	x->order = x->pair + x->nr;
	x->rank = x->order + x->nr;
	for (p = 0; p < x->n; p++) {
		e = (struct coll_emit){
			.steps = x->steps + x->base[p], .cap = x->base[p + 1] - x->base[p],
		};
		a->emit(&e, x->n, p, 0);
		for (i = x->base[p]; i < x->base[p + 1]; i++)
			x->owner[i] = p;
	}
	return 0;
}

/* The k-th send of one participant to another pairs with the k-th receive there. */
static void find_pairs(struct sim *x)
{
	u32 p, q, i, k;

	for (p = 0; p < x->n; p++) {
		for (q = 0; q < x->n; q++) {
			k = x->base[p];
			for (i = x->base[q]; i < x->base[q + 1]; i++) {
				if (x->steps[i].kind != COLL_STEP_RECV || x->steps[i].peer != p)
					continue;
				while (k < x->base[p + 1] &&
				       (x->steps[k].kind != COLL_STEP_SEND ||
					x->steps[k].peer != q))
					k++;
				x->pair[i] = k < x->base[p + 1] ? k++ : i;
			}
		}
	}
}

/*
 * Sort keys: by rounds. Within a round local steps come first, because they may wait for transfers
 * of the round before, then sends, then receives. Steps with equal keys keep their order.
 */
static u32 rank_steps(struct sim *x)
{
	u32 p, i, after, fence, top = 0;

	for (p = 0; p < x->n; p++) {
		fence = 0;
		for (i = x->base[p]; i < x->base[p + 1]; i++) {
			const struct coll_step *s = &x->steps[i];

			after = s->flags & COLL_STEP_FENCE ? fence : 0;
			if (s->dep != COLL_DEP_NONE &&
			    (x->rank[x->base[p] + s->dep] + 2) / 3 > after)
				after = (x->rank[x->base[p] + s->dep] + 2) / 3;
			if (s->kind == COLL_STEP_LOCAL)
				x->rank[i] = 3 * after;
			else
				x->rank[i] = 3 * s->round + (s->kind == COLL_STEP_SEND ? 1 : 2);
			if (s->kind != COLL_STEP_SEND && (x->rank[i] + 2) / 3 > fence)
				fence = (x->rank[i] + 2) / 3;
			if (x->rank[i] > top)
				top = x->rank[i];
		}
	}
	return top;
}

static int sort_steps(struct sim *x)
{
	u32 top = rank_steps(x), i, sum = 0, count;
	u32 *start = calloc(top + 1, sizeof(*start));

	if (!start)
		return -ENOMEM;
	for (i = 0; i < x->nr; i++)
		start[x->rank[i]]++;
	for (i = 0; i <= top; i++) {
		count = start[i];
		start[i] = sum;
		sum += count;
	}
	for (i = 0; i < x->nr; i++)
		x->order[start[x->rank[i]]++] = i;
	free(start);
	return 0;
}

static double fence_time(const struct sim *x, u32 i)
{
	double t = 0;
	u32 k;

	for (k = x->base[x->owner[i]]; k < i; k++)
		if (x->steps[k].kind != COLL_STEP_SEND)
			t = dmax(t, x->t[k].last);
	return t;
}

static double one_step(struct sim *x, u32 i)
{
	const struct select_model *m = x->m;
	const struct coll_step *s = &x->steps[i];
	double bytes = step_bytes(s, x->bytes, x->chunks), ready = 0, begin = 0, cost;
	double part = bytes < x->part ? bytes : x->part;
	const struct timing *from;
	struct timing *t = &x->t[i];
	u32 p = x->owner[i];

	cost = (s->kind == COLL_STEP_LOCAL ? 0 : m->beta) + (folds(s) ? m->gamma : 0);
	if (s->flags & COLL_STEP_FENCE)
		begin = fence_time(x, i);
	if (s->dep != COLL_DEP_NONE) {
		from = &x->t[x->base[p] + s->dep];
		begin = dmax(begin, from->first);
		ready = from->last;
	}
	if (s->kind == COLL_STEP_SEND) {
		begin = dmax(begin, x->out_free[p]) + m->overhead;
	} else if (s->kind == COLL_STEP_RECV) {
		from = &x->t[x->pair[i]];
		begin = dmax(dmax(begin, x->in_free[p]), from->begin + m->alpha) + m->overhead;
		ready = dmax(ready, from->last + m->alpha - part * m->beta);
	}
	t->begin = begin;
	t->first = begin + part * cost;
	/* Every further segment has the overhead of a message. */
	t->last = dmax(begin + bytes * cost +
		       (part > 0 && s->kind != COLL_STEP_LOCAL ?
			(bytes / part - 1) * m->overhead : 0),
		       ready + part * cost);
	if (s->kind == COLL_STEP_SEND)
		x->out_free[p] = t->last;
	else if (s->kind == COLL_STEP_RECV)
		x->in_free[p] = t->last;
	return t->last;
}

/*
 * Participants that share processors share them for folding, too. If they share a switch instead,
 * this is wrong, but makes little difference: a byte takes far longer there than folding it.
 */
static double busy_fold(const struct select_model *m)
{
	return m->busy_byte > 0 ? m->gamma : 0;
}

static double simulate(struct sim *x, const struct coll_algorithm *a)
{
	double seconds = 0, messages = 0, bytes = 0, folded = 0;
	u32 i;

	if (load(x, a))
		return -1;
	find_pairs(x);
	if (sort_steps(x))
		return -1;
	for (i = 0; i < x->nr; i++) {
		const struct coll_step *s = &x->steps[x->order[i]];

		seconds = dmax(seconds, one_step(x, x->order[i]));
		if (s->kind == COLL_STEP_SEND) {
			messages++;
			bytes += step_bytes(s, x->bytes, x->chunks);
		}
		if (folds(s))
			folded += step_bytes(s, x->bytes, x->chunks);
	}
	return dmax(seconds, messages * x->m->busy_message + bytes * x->m->busy_byte +
			     folded * busy_fold(x->m));
}

/* Estimate from the longest chain of transfers, and the busiest of three participants. */
static double estimate(const struct sim *x, const struct coll_algorithm *a)
{
	const u32 who[] = { 0, x->n / 2, x->n - 1 };
	double most = 0, messages = 0, folded = 0, in, out, fold, msgs;
	u32 i, k;

	for (i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
		struct coll_emit e = { 0 };

		if (a->emit(&e, x->n, who[i], 0))
			return -1;
		e = (struct coll_emit){ .steps = calloc(e.nr + 1, sizeof(*e.steps)), .cap = e.nr };
		if (!e.steps)
			return -1;
		a->emit(&e, x->n, who[i], 0);
		in = out = fold = msgs = 0;
		for (k = 0; k < e.nr; k++) {
			double bytes = step_bytes(&e.steps[k], x->bytes, x->chunks);

			in += e.steps[k].kind == COLL_STEP_RECV ? bytes : 0;
			out += e.steps[k].kind == COLL_STEP_SEND ? bytes : 0;
			msgs += e.steps[k].kind == COLL_STEP_SEND;
			fold += folds(&e.steps[k]) ? bytes : 0;
		}
		free(e.steps);
		most = dmax(most, dmax(in, out));
		messages = dmax(messages, msgs);
		folded = dmax(folded, fold);
	}
	return a->latency(x->n, 0) * x->m->alpha +
	       dmax(messages, a->latency(x->n, 0)) * 2 * x->m->overhead +
	       most * x->m->beta + folded * x->m->gamma;
}

double select_cost(const struct select_model *m, const struct coll_algorithm *a, u32 n,
		   u64 bytes, u32 segment)
{
	struct sim x = { .m = m, .n = n, .bytes = bytes, .chunks = a->chunks(n) ?: 1 };
	double seconds;

	if (n < 2)
		return 0;
	if (coll_kind_of(a->collective)->flags & COLL_KIND_BLOCKS)
		x.bytes *= n;
	x.part = segment && segment < SELECT_GRAIN ? segment : SELECT_GRAIN;
	if (n > EXACT)
		return estimate(&x, a);
	seconds = simulate(&x, a);
	free_sim(&x);
	return seconds;
}
