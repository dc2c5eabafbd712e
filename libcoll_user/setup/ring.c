// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Up to RING_EXACT hosts the best order is found by branch and bound. For more hosts: go to
 * the nearest neighbour each time, from several starts; then 2-opt and moves of single hosts
 * until nothing helps (Johnson, McGeoch, "The traveling salesman problem: a case study in
 * local optimization", 1997).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define STARTS	8

struct order {
	const double *far;
	uint32_t n;
	uint32_t *host;	/* [n] in the making */
	uint32_t *best;
	bool *used;
	double length;	/* of best */
};

static double way(const struct order *o, uint32_t a, uint32_t b)
{
	return o->far[(size_t)a * o->n + b];
}

double ring_length(uint32_t n, const double *far, const uint32_t *host)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < n && n > 1; i++)
		sum += far[(size_t)host[i] * n + host[i + 1 < n ? i + 1 : 0]];
	return sum;
}

static void keep(struct order *o, double length)
{
	if (length >= o->length - 1e-15)
		return;
	memcpy(o->best, o->host, o->n * sizeof(uint32_t));
	o->length = length;
}

/* Try all ways to go on from place @at, which is @length from the first, if they can be better. */
static void branch(struct order *o, uint32_t at, double length)
{
	uint32_t h;

	if (length >= o->length)
		return;
	if (at == o->n - 1) {
		keep(o, length + way(o, o->host[at], o->host[0]));
		return;
	}
	for (h = 0; h < o->n; h++) {
		if (o->used[h])
			continue;
		o->used[h] = true;
		o->host[at + 1] = h;
		branch(o, at + 1, length + way(o, o->host[at], h));
		o->used[h] = false;
	}
}

static void exact(struct order *o)
{
	memset(o->used, 0, o->n * sizeof(bool));
	o->host[0] = o->best[0];
	o->used[o->host[0]] = true;
	branch(o, 0, 0);
}

static void nearest_first(struct order *o, uint32_t start)
{
	uint32_t i, h, best;

	memset(o->used, 0, o->n * sizeof(bool));
	o->host[0] = start;
	o->used[start] = true;
	for (i = 1; i < o->n; i++) {
		best = o->n;
		for (h = 0; h < o->n; h++) {
			if (!o->used[h] && (best == o->n || way(o, o->host[i - 1], h) <
							    way(o, o->host[i - 1], best)))
				best = h;
		}
		o->host[i] = best;
		o->used[best] = true;
	}
}

static void reverse(uint32_t *host, uint32_t from, uint32_t to)
{
	uint32_t h;

	for (; from < to; from++, to--) {
		h = host[from];
		host[from] = host[to];
		host[to] = h;
	}
}

/* Take two edges out, and reverse the part of the ring between them, where that is shorter. */
static bool two_opt(struct order *o)
{
	uint32_t i, j, a, b, c, d;
	bool better = false;

	for (i = 0; i + 2 < o->n; i++) {
		for (j = i + 2; j < o->n; j++) {
			a = o->host[i];
			b = o->host[i + 1];
			c = o->host[j];
			d = o->host[j + 1 < o->n ? j + 1 : 0];
			if (a == d || way(o, a, c) + way(o, b, d) >=
				      way(o, a, b) + way(o, c, d) - 1e-15)
				continue;
			reverse(o->host, i + 1, j);
			better = true;
		}
	}
	return better;
}

/* Move the host at place @i between places @j and @j + 1, where that makes the ring shorter. */
static bool move_one(struct order *o, uint32_t i)
{
	uint32_t n = o->n, h = o->host[i], before = o->host[i ? i - 1 : n - 1];
	uint32_t after = o->host[i + 1 < n ? i + 1 : 0], j, a, b;
	double gain = way(o, before, h) + way(o, h, after) - way(o, before, after);

	for (j = 0; j < n; j++) {
		a = o->host[j];
		b = o->host[j + 1 < n ? j + 1 : 0];
		if (a == h || b == h || way(o, a, h) + way(o, h, b) - way(o, a, b) >= gain - 1e-15)
			continue;
		if (i < j) {
			memmove(o->host + i, o->host + i + 1, (j - i) * sizeof(uint32_t));
			o->host[j] = h;
		} else {
			memmove(o->host + j + 2, o->host + j + 1, (i - j - 1) * sizeof(uint32_t));
			o->host[j + 1] = h;
		}
		return true;
	}
	return false;
}

static void improve(struct order *o)
{
	bool better = true;
	uint32_t i;

	while (better) {
		better = two_opt(o);
		for (i = 0; i < o->n && o->n > 3; i++)
			better |= move_one(o, i);
	}
}

static void heuristic(struct order *o)
{
	uint32_t i;

	for (i = 0; i < STARTS && i < o->n; i++) {
		nearest_first(o, (uint64_t)i * o->n / STARTS % o->n);
		improve(o);
		keep(o, ring_length(o->n, o->far, o->host));
	}
}

int ring_order(uint32_t n, const double *far, bool all, uint32_t *order)
{
	struct order o = {
		.far = far, .n = n, .best = order,
		.host = calloc(n, sizeof(*o.host)),
		.used = calloc(n, sizeof(*o.used)),
	};
	int ret = o.host && o.used ? 0 : -ENOMEM;

	if (!ret) {
		o.length = ring_length(n, far, order);
		if (all)
			exact(&o);
		else
			heuristic(&o);
	}
	free(o.host);
	free(o.used);
	return ret;
}
