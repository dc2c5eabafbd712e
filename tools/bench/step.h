/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A training step: tensors that each rank finishes in an order of its own, all to be summed.
 * The measurements, the same for every contender. A struct step_peer describes a contender.
 *
 * seen8         one tensor of 8 B, whose name is known
 * new8          one tensor of 8 B, whose name is new
 * plain8        ours: the same by a numbered collective
 * small1000     1000 tensors of 256 B; small2000: 2000
 * resnet50      the 161 parameters of ResNet-50, 102 MB
 * whole         as many bytes in one numbered collective
 * urgent        8 B of the highest priority, posted behind resnet50
 *
 * Each is timed behind a barrier, and the slowest rank counts. No measurement goes on for more
 * than STEP_MOST_US, for four ranks that poll on two CPUs take very long. Rows are
 * "ROW kind ranks metric value", with tabs. Included by one .c file of each program.
 */
#ifndef STEP_H
#define STEP_H

#include "peer.h"

#define STEP_MOST	2000	/* tensors of a set */

/**
 * struct step_set - tensors of f32
 * @count: elements of each
 * @at: where each begins in @in and @out, in elements
 * @total: elements of all
 * @order: in which this rank finishes them, in this turn
 * @turn: how many turns were before this one
 */
struct step_set {
	const char *name;
	int n;
	size_t count[STEP_MOST];
	size_t at[STEP_MOST];
	size_t total;
	int order[STEP_MOST];
	int turn;
	float *in, *out;
};

/**
 * struct step_peer - a contender, in one rank of it
 * @only: measure this kind; NULL: all
 * @prepare: told of each set once; may be NULL
 * @run: all tensors of @s, in s->order
 * @fresh: one tensor of @count elements with a name that nobody knows
 * @plain: a collective without a name; NULL: the same as any other
 * @urgent: @s, and behind it 8 B of the highest priority: microseconds until these are there;
 *	NULL: there is no such thing
 */
struct step_peer {
	int rank, ranks;
	const char *only;
	void (*prepare)(struct step_set *s);
	void (*run)(const struct step_set *s);
	void (*fresh)(int serial, float *in, float *out, size_t count);
	void (*plain)(float *in, float *out, size_t count);
	double (*urgent)(const struct step_set *s);
	void (*barrier)(void);
	void (*collect)(double *v, int n, int largest);
};

static inline void step_add(struct step_set *s, size_t count)
{
	if (s->n == STEP_MOST) {
		fprintf(stderr, "%s: more than %d tensors\n", s->name, STEP_MOST);
		exit(2);
	}
	s->at[s->n] = s->total;
	s->order[s->n] = s->n;
	s->count[s->n++] = count;
	/* Each on cache lines of its own, as allocators have them. */
	s->total += (count + 15) / 16 * 16;
}

/* A convolution without bias, and the batch normalisation behind it. */
static inline void step_conv(struct step_set *s, size_t in, size_t out, size_t side)
{
	step_add(s, out * in * side * side);
	step_add(s, out);
	step_add(s, out);
}

/*
 * The parameters of ResNet-50: He et al., "Deep residual learning for image recognition",
 * table 1, the column of 50 layers; 1000 classes.
 */
static inline void step_resnet50(struct step_set *s)
{
	static const int blocks[] = { 3, 4, 6, 3 };
	size_t width = 64, in = 64, sum = 0;
	int stage, b, i;

	step_conv(s, 3, 64, 7);
	for (stage = 0; stage < 4; stage++, width *= 2) {
		for (b = 0; b < blocks[stage]; b++, in = 4 * width) {
			step_conv(s, in, width, 1);
			step_conv(s, width, width, 3);
			step_conv(s, width, 4 * width, 1);
			if (!b)
				step_conv(s, in, 4 * width, 1);
		}
	}
	step_add(s, 1000 * in);
	step_add(s, 1000);
	for (i = 0; i < s->n; i++)
		sum += s->count[i];
	if (s->n != 161 || sum != 25557032) {
		fprintf(stderr, "ResNet-50 has 161 parameters of 25557032 elements, not %d of %zu\n",
			s->n, sum);
		exit(2);
	}
}

static inline struct step_set *step_new(const struct step_peer *p, const char *name, int n,
					size_t count)
{
	struct step_set *s = (struct step_set *)bench_alloc(1, sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->name = name;
	if (n)
		while (n--)
			step_add(s, count);
	else
		step_resnet50(s);
	s->in = (float *)bench_buffer(s->total * sizeof(float));
	s->out = (float *)bench_buffer(s->total * sizeof(float));
	bench_fill(s->in, s->total, p->rank);
	if (p->prepare)
		p->prepare(s);
	return s;
}

/* Another order each time, and on each rank. */
static inline void step_shuffle(const struct step_peer *p, struct step_set *s)
{
	unsigned int x = (unsigned int)(s->turn * 7919 + p->rank * 104729 + 1);
	int i, k, t;

	for (i = s->n - 1; i > 0; i--) {
		x = x * 1664525 + 1013904223;
		k = (int)((x >> 8) % (unsigned int)(i + 1));
		t = s->order[i];
		s->order[i] = s->order[k];
		s->order[k] = t;
	}
}

static inline void step_check(const struct step_peer *p, const struct step_set *s)
{
	float ranks = (float)p->ranks, more = (float)(p->ranks * (p->ranks - 1) / 2);
	size_t wrong = 0, k;
	int i;

	/* The gaps between tensors are not summed. */
	for (i = 0; i < s->n; i++)
		for (k = s->at[i]; k < s->at[i] + s->count[i]; k++)
			wrong += s->out[k] != ranks * bench_input(0, k) + more;
	if (wrong) {
		fprintf(stderr, "rank %d: %s: %zu wrong\n", p->rank, s->name, wrong);
		exit(1);
	}
}

static inline void step_row(const struct step_peer *p, const char *kind, double *v, int n)
{
	p->collect(v, n, 1);
	qsort(v, (size_t)n, sizeof(*v), bench_cmp);
	if (p->rank)
		return;
	printf("ROW\t%s\t%d\tp50\t%.6g\n", kind, p->ranks, bench_median(v, n));
	fflush(stdout);
}

enum { STEP_WARM = 3, STEP_ITERS = 200 };

/* After so long, a measurement ends with the turns that it has. */
#define STEP_MOST_US	5e6

/* Does one turn, and returns the microseconds it took. */
typedef double step_turn_fn(const struct step_peer *p, const struct step_set *s);

static inline double step_named(const struct step_peer *p, const struct step_set *s)
{
	double begin = bench_now_us();

	p->run(s);
	return bench_now_us() - begin;
}

static inline double step_plain(const struct step_peer *p, const struct step_set *s)
{
	double begin = bench_now_us();

	p->plain(s->in, s->out, s->n == 1 ? s->count[0] : s->total);
	return bench_now_us() - begin;
}

static inline double step_fresh(const struct step_peer *p, const struct step_set *s)
{
	double begin = bench_now_us();

	p->fresh(s->turn, s->in, s->out, s->count[0]);
	return bench_now_us() - begin;
}

static inline double step_urgent(const struct step_peer *p, const struct step_set *s)
{
	return p->urgent(s);
}

/* All ranks get the same answer. */
static inline int step_is_late(const struct step_peer *p, double begin)
{
	double us = bench_now_us() - begin;

	p->collect(&us, 1, 1);
	return us > STEP_MOST_US;
}

/* The median of up to @iters turns, behind turns to warm up. It takes one turn at least. */
static inline void step_time(const struct step_peer *p, const char *kind, struct step_set *s,
			     int iters, step_turn_fn *fn)
{
	double v[STEP_ITERS], begin = bench_now_us(), us;
	int late = 0, n = 0;

	if (p->only && strcmp(p->only, kind))
		return;
	for (s->turn = 0; n < iters && !late; s->turn++) {
		step_shuffle(p, s);
		p->barrier();
		us = fn(p, s);
		late = step_is_late(p, begin);
		if (s->turn >= STEP_WARM || late)
			v[n++] = us;
	}
	step_check(p, s);
	step_row(p, kind, v, n);
}

static inline void step_long(const struct step_peer *p, int iters)
{
	struct step_set *net = step_new(p, "resnet50", 0, 0);

	step_time(p, net->name, net, iters, step_named);
	if (p->plain)
		step_time(p, "whole", net, iters, step_plain);
	if (p->urgent)
		step_time(p, "urgent", net, iters, step_urgent);
}

/* @most: iterations of what is short; a tenth of what is long */
static inline void step_all(const struct step_peer *p, int most)
{
	struct step_set *one = step_new(p, "seen8", 1, 2);
	struct step_set *k1 = step_new(p, "small1000", 1000, 64);
	struct step_set *k2 = step_new(p, "small2000", 2000, 64);
	int few = most / 10 + 1;

	most = most > STEP_ITERS ? STEP_ITERS : most;
	few = few > STEP_ITERS ? STEP_ITERS : few;
	step_time(p, one->name, one, most, step_named);
	if (p->plain)
		step_time(p, "plain8", one, most, step_plain);
	step_time(p, "new8", one, most, step_fresh);
	step_time(p, k1->name, k1, few, step_named);
	step_time(p, k2->name, k2, few, step_named);
	step_long(p, few);
}

#endif /* STEP_H */
