// SPDX-License-Identifier: GPL-2.0
/*
 * collplan cost: tables of transfers, bytes and time, and from which size on one
 * algorithm is faster than another.
 */
#include "collplan.h"

struct args {
	u32 collective;
	const char *algorithm;
	const char *topology;
	const char *order;
	u32 n;
	u32 root;
	u32 radix;
	u64 bytes;
	bool has_bytes;
	bool crossover;
	bool has_overhead;
	struct model m;
};

static const char *size_text(double bytes, char *buf, size_t len)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	u32 i = 0;

	while (bytes >= (i ? 10240 : 1e7) && i < 5) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, len, i ? "%.1f %s" : "%.0f %s", bytes, unit[i]);
	return buf;
}

static const char *time_text(double s, char *buf, size_t len)
{
	if (s < 1e-2)
		snprintf(buf, len, "%.2f us", s * 1e6);
	else if (s < 10)
		snprintf(buf, len, "%.2f ms", s * 1e3);
	else
		snprintf(buf, len, "%.2f s", s);
	return buf;
}

static bool wanted(const struct args *x, const struct coll_algorithm *a)
{
	return (!x->collective || a->collective == x->collective) &&
	       (!x->algorithm || !strcmp(a->name, x->algorithm));
}

static void print_model(const struct model *m)
{
	printf("alpha %g s, beta %g s/byte, gamma %g s/byte, overhead %g s, segment %llu bytes\n",
	       m->alpha, m->beta, m->gamma, m->overhead, (unsigned long long)m->segment);
}

static void table(const struct args *x)
{
	char total[32], most[32], largest[32], seconds[32];
	const struct coll_algorithm *a;
	struct cost c;
	u32 i, nr = 0;

	printf("%u participants, %llu bytes", x->n, (unsigned long long)x->bytes);
	printf(is_rooted(x->collective) ? ", root %u\n" : "\n", x->root);
	print_model(&x->m);
	printf("\n%-14s %-19s %7s %13s %12s %12s %12s  %s\n", "collective", "algorithm", "steps",
	       "bytes, all", "bytes, most", "one message", "time", "from");
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		if (!wanted(x, a))
			continue;
		nr++;
		cost_of(a, x->n, is_rooted(a->collective) ? x->root : 0, x->radix, x->bytes, &x->m,
			&c);
		printf("%-14s %-19s %7u %13s %12s %12s %12s  %s\n",
		       collective_name(a->collective), a->name, c.steps,
		       size_text(c.total, total, sizeof(total)),
		       size_text(c.most, most, sizeof(most)),
		       c.simulated ? size_text(c.largest, largest, sizeof(largest)) : "-",
		       time_text(c.seconds, seconds, sizeof(seconds)),
		       c.simulated ? "simulation" : "formulas");
	}
	if (!nr)
		die("no such algorithm (collplan list)");
	printf("\nsteps: transfers in the longest chain, tokens too. bytes, most: sent by the one\n"
	       "who sends most. one message: the longest one.\n");
	if (x->radix)
		printf("steps are those of the default radix.\n");
}

static double seconds_of(const struct args *x, const struct coll_algorithm *a, u64 bytes)
{
	struct cost c;

	cost_of(a, x->n, x->root, x->radix, bytes, &x->m, &c);
	return c.seconds;
}

#define LARGEST		(1ULL << 34)

/* The smallest size, within 1 %, at which @b is faster than @a; 0: none below LARGEST. */
static u64 crossing(const struct args *x, const struct coll_algorithm *a,
		    const struct coll_algorithm *b)
{
	u64 low = 1, high = 1, mid;

	while (high < LARGEST && seconds_of(x, b, high) >= seconds_of(x, a, high)) {
		low = high;
		high *= 2;
	}
	if (high >= LARGEST)
		return 0;
	if (high == 1)
		return 1;
	while (high - low > 1 + low / 100) {
		mid = low + (high - low) / 2;
		if (seconds_of(x, b, mid) < seconds_of(x, a, mid))
			high = mid;
		else
			low = mid;
	}
	return high;
}

static void print_crossing(const struct args *x, const struct coll_algorithm *a,
			   const struct coll_algorithm *b)
{
	u64 at = crossing(x, a, b);
	char size[32];

	printf("%-18s -> %-13s ", a->name, b->name);
	if (at)
		printf("from %s on\n", size_text(at, size, sizeof(size)));
	else
		printf("never up to 16 GiB\n");
}

#define MAX_ALGORITHMS	32

static void crossover(const struct args *x)
{
	static const char *const textbook[] = { "recursive_doubling", "rabenseifner", "ring" };
	const struct coll_algorithm *a, *list[MAX_ALGORITHMS], *best, *last = NULL;
	u32 i, j, nr = 0;
	struct args y = *x;
	double t, least;
	char size[32];
	u64 bytes;

	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		if (wanted(x, a) && nr < MAX_ALGORITHMS)
			list[nr++] = a;
	}
	printf("%s, %u participants\n", collective_name(x->collective), x->n);
	print_model(&x->m);
	for (i = 0; i < 3 && x->collective == COLL_ALLREDUCE; i++) {
		for (j = i + 1; j < 3; j++)
			print_crossing(x, find_algorithm("allreduce", textbook[i]),
				       find_algorithm("allreduce", textbook[j]));
	}
	/*
	 * For a power of two both send the same bytes, and a ring has the longer chain. For
	 * other numbers, rabenseifner sends more.
	 */
	if (x->collective == COLL_ALLREDUCE && x->n > 2 && !(x->n & (x->n - 1))) {
		y.n--;
		printf("for %u participants, no power of two:\n", y.n);
		print_crossing(&y, find_algorithm("allreduce", "rabenseifner"),
			       find_algorithm("allreduce", "ring"));
	}
	printf("\nfastest of all %u, by powers of two:\n", nr);
	for (bytes = 1; bytes <= LARGEST; bytes *= 2) {
		best = NULL;
		least = 0;
		for (i = 0; i < nr; i++) {
			t = seconds_of(x, list[i], bytes);
			if (!best || t < least) {
				best = list[i];
				least = t;
			}
		}
		if (best != last)
			printf("%12s on: %s\n", size_text(bytes, size, sizeof(size)), best->name);
		last = best;
	}
}

static bool model_option(struct args *x, const char *name, const char *value)
{
	if (!strcmp(name, "--alpha"))
		x->m.alpha = parse_number(value);
	else if (!strcmp(name, "--beta"))
		x->m.beta = parse_number(value);
	else if (!strcmp(name, "--gamma"))
		x->m.gamma = parse_number(value);
	else if (!strcmp(name, "--segment"))
		x->m.segment = parse_bytes(value);
	else if (!strcmp(name, "--overhead"))
		x->m.overhead = parse_number(value);
	else
		return false;
	x->has_overhead |= !strcmp(name, "--overhead");
	return true;
}

static void option(struct args *x, const char *name, const char *value)
{
	if (model_option(x, name, value))
		return;
	if (!strcmp(name, "-p"))
		x->n = parse_bytes(value);
	else if (!strcmp(name, "-r"))
		x->root = parse_bytes(value);
	else if (!strcmp(name, "-k"))
		x->radix = parse_bytes(value);
	else if (!strcmp(name, "-b"))
		x->bytes = parse_bytes(value);
	else if (!strcmp(name, "--topology"))
		x->topology = value;
	else if (!strcmp(name, "--order"))
		x->order = value;
	else
		die("cost: unknown option %s", name);
	x->has_bytes |= !strcmp(name, "-b");
}

static void on_topology(const struct args *x)
{
	const struct coll_algorithm *a;
	struct model m = x->m;
	struct topology t;
	u32 *host_of, i, nr = 0;

	read_topology(&t, x->topology);
	if (x->root >= t.hosts)
		die("root %u of %u hosts", x->root, t.hosts);
	host_of = need(calloc(t.hosts, sizeof(*host_of)));
	read_order(&t, x->order, host_of);
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		if (!wanted(x, a))
			continue;
		topology_cost(&t, a, x->root, x->radix, x->bytes, host_of, &m);
		nr++;
	}
	if (!nr)
		die("no such algorithm (collplan list)");
	free(host_of);
	free_topology(&t);
}

int cmd_cost(int argc, char **argv)
{
	struct args x = { .m = { .alpha = 10e-6, .beta = 0.8e-9, .gamma = 0.1e-9,
				 .segment = 64 << 10 } };

	for (; argc > 0; argc--, argv++) {
		if (!strcmp(*argv, "--crossover")) {
			x.crossover = true;
		} else if (**argv == '-') {
			if (argc < 2)
				die("cost: %s needs a value", *argv);
			option(&x, argv[0], argv[1]);
			argc--;
			argv++;
		} else if (!x.collective) {
			x.collective = collective_number(*argv);
			if (!x.collective)
				die("no schedules for the collective %s", *argv);
		} else {
			x.algorithm = *argv;
		}
	}
	if (!x.has_overhead)
		x.m.overhead = x.m.alpha / 10;
	if (x.topology && x.has_bytes) {
		on_topology(&x);
		return 0;
	}
	if (!x.n || x.n > 65536 || x.root >= x.n)
		die("cost: -p 1 to 65536 and a root among them");
	if (x.crossover && x.collective)
		crossover(&x);
	else if (x.has_bytes)
		table(&x);
	else
		die("cost: -b BYTES is missing (collplan --help)");
	return 0;
}
