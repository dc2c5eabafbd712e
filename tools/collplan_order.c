// SPDX-License-Identifier: GPL-2.0
/*
 * collplan order: in which order ranks should stand, so that neighbours are near.
 *
 * The measure is the average path stretch of the ring of ranks: the delays of the ways
 * from each rank to the next, together, divided by those from each to the host nearest
 * to it. 1 is the least one could think of. It is what chains and rings pay, and
 * trees, hypercubes and the like exchange mostly with ranks near by number.
 *
 * libcoll_user/setup/ring.c finds the order, as it does for coll_init(). A lower bound is printed
 * with it, that of Held and Karp.
 */
#include "collplan.h"
#include "../libcoll_user/setup/ring.h"

struct order {
	const struct topology *t;
	u32 n;
	u32 *best;	/* [n] of rank */
	double length;	/* of best */
};

static double way(const struct order *o, u32 a, u32 b)
{
	return o->t->far[(size_t)a * o->n + b];
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
 * The least tree that spans all but host 0 (Prim), and the two shortest ways of host 0. A ring is a
 * tree of all but host 0 and two ways of host 0, too, so no ring is shorter.
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
	return o->n > 2 ? best : o->length;
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
	o.best = need(calloc(o.n, sizeof(u32)));
	if (!strcmp(how, "exact") && o.n > RING_EXACT + 3)
		die("order: --exact is for up to %u hosts", RING_EXACT + 3);
	read_order(&t, NULL, o.best);
	start = ring_length(o.n, t.far, o.best);
	if (!*how)
		how = o.n <= RING_EXACT ? "exact" : "heuristic";
	if (ring_order(o.n, t.far, !strcmp(how, "exact"), o.best))
		die("no memory");
	o.length = ring_length(o.n, t.far, o.best);
	bound = lower_bound(&o);
	for (i = 0; i < o.n; i++)
		near += topology_near(&t, i);
	near = near > 0 ? near : 1;
	printf("# %u hosts; average path stretch of the ring: %.4f as numbered, %.4f in this\n"
	       "# order (%s), not below %.4f in any\n", o.n, start / near, o.length / near, how,
	       bound / near);
	for (i = 0; i < o.n; i++)
		printf("%s\n", t.name[o.best[i]]);
	free(o.best);
	free_topology(&t);
	return 0;
}
