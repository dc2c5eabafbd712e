// SPDX-License-Identifier: GPL-2.0
/*
 * collplan cost: one schedule on an alpha-beta-gamma machine.
 *
 * A participant sends one message after the other and receives one after the other, both at the
 * same time (Hockney's model, full duplex, one port). A message is on the way for alpha; its
 * bytes take beta each to leave and beta each to come in, and gamma if they are folded.
 * Messages on the way overlap. A step may pass on data segment by segment, as the executor
 * does.
 *
 * Where the schedule has more than MAX_STEPS steps, closed formulas instead: alpha for
 * each transfer of the longest chain (latency()), beta for the bytes of the one who
 * sends or receives most (sent()), gamma for those it folds. That is exact for rings and
 * exchanges, where all do the same at the same time, and too low for others.
 */
#include "collplan.h"

#define MAX_STEPS	(24ULL << 20)

struct sim {
	const struct schedule *s;
	const struct model *m;
	u64 bytes;
	u32 chunks;
	u32 *owner;
	u64 *order;
	u64 *pair;
	double *begin;		/* when a step begins */
	double *first;		/* when its first segment is there */
	double *last;		/* when all of it is */
	double *out_free;
	double *in_free;
	double *fence;		/* what a fence waits for, up to the cursor */
	u64 *cursor;
};

/* Bytes of a step's range; scratch has chunks of the same sizes again and again. */
double step_bytes(const struct coll_step *s, u64 bytes, u32 chunks)
{
	u32 c = s->chunk, nr = s->nr_chunks;

	if (nr > chunks)
		return (double)bytes * nr / chunks;
	c %= chunks;
	if (c + nr <= chunks)
		return coll_chunk_start(bytes, chunks, c + nr) - coll_chunk_start(bytes, chunks, c);
	return bytes - coll_chunk_start(bytes, chunks, c) +
	       coll_chunk_start(bytes, chunks, c + nr - chunks);
}

static double range_bytes(const struct sim *x, const struct coll_step *s)
{
	return step_bytes(s, x->bytes, x->chunks);
}

/*
 * An order in which nothing stands before what it waits for: by rounds, and in a round
 * local steps that wait for the one before, sends, receives.
 */
static void sort_steps(struct sim *x)
{
	const struct schedule *s = x->s;
	u64 nr = s->base[s->n], i, sum = 0, count, *start;
	u32 *key = need(calloc(nr + 1, sizeof(*key))), keys = 0, p, fence, after;

	for (p = 0; p < s->n; p++) {
		fence = 0;
		for (i = s->base[p]; i < s->base[p + 1]; i++) {
			const struct coll_step *t = &s->steps[i];

			after = t->flags & COLL_STEP_FENCE ? fence : 0;
			if (t->dep != COLL_DEP_NONE && (key[s->base[p] + t->dep] + 2) / 3 > after)
				after = (key[s->base[p] + t->dep] + 2) / 3;
			if (t->kind == COLL_STEP_LOCAL)
				key[i] = 3 * after;
			else
				key[i] = 3 * t->round + (t->kind == COLL_STEP_SEND ? 1 : 2);
			if (t->kind != COLL_STEP_SEND && (key[i] + 2) / 3 > fence)
				fence = (key[i] + 2) / 3;
			keys = key[i] > keys ? key[i] : keys;
		}
	}
	start = need(calloc(keys + 2, sizeof(*start)));
	for (i = 0; i < nr; i++)
		start[key[i]]++;
	for (i = 0; i <= keys; i++) {
		count = start[i];
		start[i] = sum;
		sum += count;
	}
	for (i = 0; i < nr; i++)
		x->order[start[key[i]]++] = i;
	free(start);
	free(key);
}

/* A transfer as sorted: both ends of it come to stand side by side. */
struct end {
	u32 from;
	u32 to;
	u64 step;
};

static int by_link(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->step < y->step ? -1 : 1;
}

static void pair_steps(struct sim *x)
{
	const struct schedule *s = x->s;
	u64 nr = s->base[s->n], i, sends = 0, recvs = 0;
	struct end *out = need(calloc(nr + 1, sizeof(*out)));
	struct end *in = need(calloc(nr + 1, sizeof(*in)));

	for (i = 0; i < nr; i++) {
		if (s->steps[i].kind == COLL_STEP_SEND)
			out[sends++] = (struct end){ x->owner[i], s->steps[i].peer, i };
		else if (s->steps[i].kind == COLL_STEP_RECV)
			in[recvs++] = (struct end){ s->steps[i].peer, x->owner[i], i };
	}
	qsort(out, sends, sizeof(*out), by_link);
	qsort(in, recvs, sizeof(*in), by_link);
	for (i = 0; i < recvs; i++)
		x->pair[in[i].step] = out[i].step;
	free(out);
	free(in);
}

static double max(double a, double b)
{
	return a > b ? a : b;
}

static double fence_time(struct sim *x, u32 p, u64 step)
{
	u64 y;

	for (y = x->cursor[p]; y < step; y++) {
		if (x->s->steps[y].kind != COLL_STEP_SEND)
			x->fence[p] = max(x->fence[p], x->last[y]);
	}
	x->cursor[p] = x->cursor[p] > step ? x->cursor[p] : step;
	return x->fence[p];
}

static void pair_model(const struct model *m, u32 p, u32 q, double *alpha, double *beta)
{
	const struct topology *t = m->topology;
	u32 a = m->host_of[p], b = m->host_of[q];

	*alpha = t->far[(size_t)b * t->hosts + a];
	*beta = 1 / topology_slowest(t, a, b);
}

static double one_step(struct sim *x, u64 i)
{
	const struct coll_step *s = &x->s->steps[i];
	u64 dep = s->dep == COLL_DEP_NONE ? i : x->s->base[x->owner[i]] + s->dep;
	double alpha = x->m->alpha, beta = x->m->beta, begin = 0, ready = 0, part, cost;
	double bytes = range_bytes(x, s);
	bool folds = s->action == COLL_ACT_REDUCE || s->action == COLL_ACT_REDUCE_IN;
	u32 p = x->owner[i];

	if (x->m->topology && s->kind != COLL_STEP_LOCAL)
		pair_model(x->m, p, s->peer, &alpha, &beta);
	cost = beta;
	part = x->m->segment && x->m->segment < bytes ? x->m->segment : bytes;
	if (s->flags & COLL_STEP_FENCE)
		begin = fence_time(x, p, i);
	if (dep != i) {
		begin = max(begin, x->first[dep]);
		ready = x->last[dep];
	}
	if (s->kind == COLL_STEP_LOCAL)
		cost = s->action == COLL_ACT_INPUT ? 0 : x->m->gamma;
	else if (folds)
		cost += x->m->gamma;
	if (s->kind == COLL_STEP_SEND) {
		begin = max(begin, x->out_free[p]) + x->m->overhead;
	} else if (s->kind == COLL_STEP_RECV) {
		begin = max(begin, max(x->in_free[p], x->begin[x->pair[i]] + alpha));
		ready = max(ready, x->last[x->pair[i]] + alpha - part * beta);
	}
	x->begin[i] = begin;
	x->first[i] = begin + part * cost;
	x->last[i] = max(begin + bytes * cost, ready + part * cost);
	if (s->kind == COLL_STEP_SEND)
		x->out_free[p] = x->last[i];
	else if (s->kind == COLL_STEP_RECV)
		x->in_free[p] = x->last[i];
	return x->last[i];
}

static void simulate(struct sim *x, struct cost *c)
{
	const struct schedule *s = x->s;
	u64 nr = s->base[s->n], i;
	double sent, bytes;
	u32 p;

	x->owner = need(calloc(nr + 1, sizeof(u32)));
	x->order = need(calloc(nr + 1, sizeof(u64)));
	x->pair = need(calloc(nr + 1, sizeof(u64)));
	x->begin = need(calloc(nr + 1, sizeof(double)));
	x->first = need(calloc(nr + 1, sizeof(double)));
	x->last = need(calloc(nr + 1, sizeof(double)));
	x->out_free = need(calloc(s->n, sizeof(double)));
	x->in_free = need(calloc(s->n, sizeof(double)));
	x->fence = need(calloc(s->n, sizeof(double)));
	x->cursor = need(calloc(s->n, sizeof(u64)));
	for (p = 0; p < s->n; p++) {
		x->cursor[p] = s->base[p];
		sent = 0;
		for (i = s->base[p]; i < s->base[p + 1]; i++) {
			x->owner[i] = p;
			if (s->steps[i].kind != COLL_STEP_SEND)
				continue;
			bytes = range_bytes(x, &s->steps[i]);
			sent += bytes;
			c->largest = max(c->largest, bytes);
		}
		c->total += sent;
		c->most = max(c->most, sent);
	}
	sort_steps(x);
	pair_steps(x);
	for (i = 0; i < nr; i++)
		c->seconds = max(c->seconds, one_step(x, x->order[i]));
	free(x->owner);
	free(x->order);
	free(x->pair);
	free(x->begin);
	free(x->first);
	free(x->last);
	free(x->out_free);
	free(x->in_free);
	free(x->fence);
	free(x->cursor);
}

/* Bytes received and folded: the most of a few participants. */
static void sample(struct sim *x, const struct coll_algorithm *a, u32 n, u32 root, u32 radix,
		   double *received, double *folded, u32 *messages)
{
	u32 who[] = { 0, root, n / 2, n - 1 }, i, j, msgs;
	double in, op;

	*received = 0;
	*folded = 0;
	*messages = 0;
	for (i = 0; i < 4; i++) {
		struct coll_emit e = { .radix = radix };

		if (a->emit(&e, n, who[i], root))
			die("no such schedule");
		e = (struct coll_emit){
			.radix = radix, .cap = e.nr,
			.steps = need(calloc(e.nr + 1, sizeof(*e.steps))),
		};
		a->emit(&e, n, who[i], root);
		in = 0;
		op = 0;
		msgs = 0;
		for (j = 0; j < e.nr; j++) {
			const struct coll_step *s = &e.steps[j];
			double bytes = range_bytes(x, s);

			msgs += s->kind == COLL_STEP_SEND;
			in += s->kind == COLL_STEP_RECV ? bytes : 0;
			op += s->action == COLL_ACT_REDUCE || s->action == COLL_ACT_REDUCE_IN ||
			      s->action == COLL_ACT_FOLD ? bytes : 0;
		}
		free(e.steps);
		*received = max(*received, in);
		*folded = max(*folded, op);
		*messages = msgs > *messages ? msgs : *messages;
	}
}

static void formulas(struct sim *x, const struct coll_algorithm *a, u32 n, u32 root, u32 radix,
		     struct cost *c)
{
	double chunk = (double)x->bytes / x->chunks, sent, received, folded;
	u32 p, messages;

	for (p = 0; p < n; p++) {
		sent = a->sent(n, p, root) * chunk;
		c->total += sent;
		c->most = max(c->most, sent);
	}
	sample(x, a, n, root, radix, &received, &folded, &messages);
	c->seconds = c->steps * x->m->alpha + max(messages, c->steps) * x->m->overhead +
		     max(c->most, received) * x->m->beta + folded * x->m->gamma;
}

/* About how many steps there are; those of a few participants are telling. */
static u64 estimate(const struct coll_algorithm *a, u32 n, u32 root, u32 radix)
{
	struct coll_emit e = { .radix = radix }, f = e;

	if (a->emit(&e, n, n / 2, root) || a->emit(&f, n, root ? 0 : n - 1, root))
		die("%s %s does not work for %u participants, root %u, radix %u",
		    collective_name(a->collective), a->name, n, root, radix);
	return (u64)n * (e.nr > f.nr ? e.nr : f.nr);
}

void cost_of(const struct coll_algorithm *a, u32 n, u32 root, u32 radix, u64 bytes,
	     const struct model *m, struct cost *c)
{
	struct sim x = { .m = m, .bytes = bytes, .chunks = a->chunks(n) };
	struct schedule s;

	memset(c, 0, sizeof(*c));
	c->steps = a->latency(n, root);
	c->simulated = estimate(a, n, root, radix) <= MAX_STEPS;
	if (!c->simulated) {
		formulas(&x, a, n, root, radix, c);
		return;
	}
	load_schedule(&s, a, n, root, radix);
	x.s = &s;
	simulate(&x, c);
	free_schedule(&s);
}
