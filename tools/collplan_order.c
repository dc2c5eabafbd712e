// SPDX-License-Identifier: GPL-2.0
/*
 * collplan order: in which order ranks should stand, so that neighbours are near.
 *
 * The measure is the average path stretch of the ring of ranks: the delays of the ways
 * from each rank to the next, together, divided by those from each to the host nearest
 * to it. 1 is the least one could think of. It is what chains and rings pay, and
 * trees, hypercubes and the like exchange mostly with ranks near by number.
 *
 * Up to EXACT hosts the best order is found by branch and bound. For more: the nearest
 * neighbour each time, from several starts, then 2-opt and moves of single hosts until
 * nothing helps (Johnson, McGeoch, "The traveling salesman problem: a case study in local
 * optimization", 1997). A lower bound is printed with it, that of Held and Karp.
 */
#include "collplan.h"

#define EXACT	9
#define STARTS	8

struct order {
	const struct topology *t;
	u32 n;
	u32 *host;	/* [n] of rank */
	u32 *best;
	bool *used;
	double length;	/* of best */
};

static double way(const struct order *o, u32 a, u32 b)
{
	return o->t->far[(size_t)a * o->n + b];
}

static double ring_length(const struct order *o, const u32 *host)
{
	double sum = 0;
	u32 i;

	for (i = 0; i < o->n && o->n > 1; i++)
		sum += way(o, host[i], host[i + 1 < o->n ? i + 1 : 0]);
	return sum;
}

static void keep(struct order *o, double length)
{
	if (length >= o->length - 1e-15)
		return;
	memcpy(o->best, o->host, o->n * sizeof(u32));
	o->length = length;
}

/* All ways to go on from rank @at, which is @length from the first, if they can be better. */
static void branch(struct order *o, u32 at, double length)
{
	u32 h;

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

static void nearest_first(struct order *o, u32 start)
{
	u32 i, h, best;

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

static void reverse(u32 *host, u32 from, u32 to)
{
	u32 h;

	for (; from < to; from++, to--) {
		h = host[from];
		host[from] = host[to];
		host[to] = h;
	}
}

/* Take two ways out and put the ring together the other way round. */
static bool two_opt(struct order *o)
{
	u32 i, j, a, b, c, d;
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

/* Put the host of rank @i between ranks @j and @j + 1, where it is shorter. */
static bool move_one(struct order *o, u32 i)
{
	u32 n = o->n, h = o->host[i], before = o->host[i ? i - 1 : n - 1];
	u32 after = o->host[i + 1 < n ? i + 1 : 0], j, a, b;
	double gain = way(o, before, h) + way(o, h, after) - way(o, before, after);

	for (j = 0; j < n; j++) {
		a = o->host[j];
		b = o->host[j + 1 < n ? j + 1 : 0];
		if (a == h || b == h || way(o, a, h) + way(o, h, b) - way(o, a, b) >= gain - 1e-15)
			continue;
		if (i < j) {
			memmove(o->host + i, o->host + i + 1, (j - i) * sizeof(u32));
			o->host[j] = h;
		} else {
			memmove(o->host + j + 2, o->host + j + 1, (i - j - 1) * sizeof(u32));
			o->host[j + 1] = h;
		}
		return true;
	}
	return false;
}

static void improve(struct order *o)
{
	bool better = true;
	u32 i;

	while (better) {
		better = two_opt(o);
		for (i = 0; i < o->n && o->n > 3; i++)
			better |= move_one(o, i);
	}
}

static void heuristic(struct order *o)
{
	u32 i;

	for (i = 0; i < STARTS && i < o->n; i++) {
		nearest_first(o, (u64)i * o->n / STARTS % o->n);
		improve(o);
		keep(o, ring_length(o, o->host));
	}
}

/* The work of the lower bound: each [n]. */
struct bound {
	double *pi;	/* what is added to all ways of a host */
	double *d;	/* to the tree so far */
	u32 *up;	/* by which way */
	u32 *degree;
	bool *in;
};

static double priced(const struct order *o, const struct bound *b, u32 x, u32 y)
{
	return way(o, x, y) + b->pi[x] + b->pi[y];
}

static void add_way(struct bound *b, u32 x, u32 y)
{
	b->degree[x]++;
	b->degree[y]++;
}

/*
 * The least tree that spans all but host 0 (Prim), and the two shortest ways of host 0: no
 * ring is shorter, since it is such a thing, too.
 */
static double one_tree(const struct order *o, struct bound *b)
{
	u32 i, j, best, one = 0, two = 0;
	double sum = 0;

	for (i = 0; i < o->n; i++) {
		b->degree[i] = 0;
		b->in[i] = i == 1;
		b->up[i] = 1;
		b->d[i] = priced(o, b, 1, i);
	}
	for (i = 2; i < o->n; i++) {
		best = 0;
		for (j = 2; j < o->n; j++) {
			if (!b->in[j] && (!best || b->d[j] < b->d[best]))
				best = j;
		}
		b->in[best] = true;
		sum += b->d[best];
		add_way(b, best, b->up[best]);
		for (j = 2; j < o->n; j++) {
			if (!b->in[j] && priced(o, b, best, j) < b->d[j]) {
				b->d[j] = priced(o, b, best, j);
				b->up[j] = best;
			}
		}
	}
	for (i = 1; i < o->n; i++) {
		if (!one || priced(o, b, 0, i) < priced(o, b, 0, one)) {
			two = one;
			one = i;
		} else if (!two || priced(o, b, 0, i) < priced(o, b, 0, two)) {
			two = i;
		}
	}
	add_way(b, 0, one);
	add_way(b, 0, two);
	sum += priced(o, b, 0, one) + priced(o, b, 0, two);
	for (i = 0; i < o->n; i++)
		sum -= 2 * b->pi[i];
	return sum;
}

/*
 * Held and Karp, "The traveling-salesman problem and minimum spanning trees", 1971: in a
 * ring everybody has two neighbours, so what is added to all ways of a host adds the
 * same to every ring. Make those dearer that have more in the tree, and look again.
 */
static double lower_bound(const struct order *o)
{
	double best = 0, bound, step = 2, square;
	struct bound b = {
		.pi = need(calloc(o->n, sizeof(double))),
		.d = need(calloc(o->n, sizeof(double))),
		.up = need(calloc(o->n, sizeof(u32))),
		.degree = need(calloc(o->n, sizeof(u32))),
		.in = need(calloc(o->n, sizeof(bool))),
	};
	u32 round, i, idle = 0;

	/* a first guess, that takes out what the cable of a host adds to all its ways */
	for (i = 0; i < o->n * o->n; i++)
		b.pi[i / o->n] -= way(o, i / o->n, i % o->n) / o->n;
	for (round = 0; round < 400 && o->n > 2; round++) {
		bound = one_tree(o, &b);
		idle = bound > best * (1 + 1e-6) ? 0 : idle + 1;
		best = bound > best ? bound : best;
		square = 0;
		for (i = 0; i < o->n; i++)
			square += ((double)b.degree[i] - 2) * ((double)b.degree[i] - 2);
		if (square == 0)
			break;
		if (idle == 10) {
			step /= 2;
			idle = 0;
		}
		for (i = 0; i < o->n; i++)
			b.pi[i] += step * (o->length * 1.001 - bound) / square *
				   ((double)b.degree[i] - 2);
	}
	free(b.pi);
	free(b.d);
	free(b.up);
	free(b.degree);
	free(b.in);
	return o->n > 2 ? best : ring_length(o, o->best);
}

int cmd_order(int argc, char **argv)
{
	const char *file = NULL, *how = "";
	double start, near = 0, bound;
	struct order o = {};
	struct topology t;
	u32 i;

	for (; argc > 0; argc--, argv++) {
		if (!strcmp(*argv, "--exact") || !strcmp(*argv, "--heuristic"))
			how = *argv + 2;
		else if (**argv != '-' && !file)
			file = *argv;
		else
			die("order: TOPOLOGY [--exact|--heuristic]");
	}
	if (!file)
		die("order: which topology?");
	read_topology(&t, file);
	o.t = &t;
	o.n = t.hosts;
	o.host = need(calloc(o.n, sizeof(u32)));
	o.best = need(calloc(o.n, sizeof(u32)));
	o.used = need(calloc(o.n, sizeof(bool)));
	if (!strcmp(how, "exact") && o.n > EXACT + 3)
		die("order: --exact is for up to %u hosts", EXACT + 3);
	read_order(&t, NULL, o.best);
	o.length = ring_length(&o, o.best);
	start = o.length;
	if (!*how)
		how = o.n <= EXACT ? "exact" : "heuristic";
	if (!strcmp(how, "exact"))
		exact(&o);
	else
		heuristic(&o);
	bound = lower_bound(&o);
	for (i = 0; i < o.n; i++)
		near += topology_near(&t, i);
	near = near > 0 ? near : 1;
	printf("# %u hosts; average path stretch of the ring: %.4f as numbered, %.4f in this\n"
	       "# order (%s), not below %.4f in any\n", o.n, start / near, o.length / near, how,
	       bound / near);
	for (i = 0; i < o.n; i++)
		printf("%s\n", t.name[o.best[i]]);
	free(o.host);
	free(o.best);
	free(o.used);
	free_topology(&t);
	return 0;
}
