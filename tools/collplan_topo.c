// SPDX-License-Identifier: GPL-2.0
/*
 * collplan: topology files, the ways through them, and what a schedule puts on each
 * physical link.
 *
 * A topology is a text file. # begins a comment; else each line is one of
 *
 *	host NAME...		machines that have ranks, one each; without --order
 *				rank r is the r-th of them
 *	switch NAME...
 *	link A B RATE DELAY	a cable, both ways at the same time; RATE in bit/s, with k,
 *				M, G, T for powers of 1000; DELAY in seconds, or with ns,
 *				us, ms
 *
 * Messages take the way of the least delay, and of several the one of the fewest links.
 */
#include <errno.h>

#include "collplan.h"

#define MAX_NODES	8192
#define MAX_LINKS	65536
#define HOP		1e-12	/* seconds: decides between ways of the same delay */

static double unit(const char *file, u32 line, const char *text, const char *const *names,
		   const double *factors, u32 nr)
{
	char *end;
	double v = strtod(text, &end);
	u32 i;

	if (end == text || !(v >= 0) || v > 1e18)
		die("%s:%u: not a number: %s", file, line, text);
	for (i = 0; i < nr; i++) {
		if (!strcmp(end, names[i]))
			return v * factors[i];
	}
	die("%s:%u: unknown unit: %s", file, line, text);
}

static double parse_rate(const char *file, u32 line, const char *text)
{
	static const char *const names[] = { "", "k", "M", "G", "T" };
	static const double factors[] = { 1, 1e3, 1e6, 1e9, 1e12 };
	double rate = unit(file, line, text, names, factors, 5);

	if (!(rate > 0))
		die("%s:%u: a link needs a rate", file, line);
	return rate / 8;
}

static double parse_delay(const char *file, u32 line, const char *text)
{
	static const char *const names[] = { "", "s", "ms", "us", "ns" };
	static const double factors[] = { 1, 1, 1e-3, 1e-6, 1e-9 };

	return unit(file, line, text, names, factors, 5);
}

static u32 find_node(const struct topology *t, const char *name)
{
	u32 i;

	for (i = 0; i < t->nodes; i++) {
		if (!strcmp(t->name[i], name))
			return i;
	}
	return t->nodes;
}

static void add_node(struct topology *t, const char *file, u32 line, const char *name)
{
	if (strlen(name) >= sizeof(t->name[0]) || t->nodes == MAX_NODES)
		die("%s:%u: name too long, or too many nodes", file, line);
	if (find_node(t, name) < t->nodes)
		die("%s:%u: %s is there already", file, line, name);
	strcpy(t->name[t->nodes++], name);
}

static void add_link(struct topology *t, const char *file, u32 line, char *rest)
{
	const char *word[4];
	u32 i, end;

	for (i = 0; i < 4; i++) {
		word[i] = strtok_r(NULL, " \t\r\n", &rest);
		if (!word[i])
			die("%s:%u: link A B RATE DELAY", file, line);
	}
	if (strtok_r(NULL, " \t\r\n", &rest) || t->links == MAX_LINKS)
		die("%s:%u: link A B RATE DELAY, and not too many", file, line);
	for (i = 0; i < 2; i++) {
		end = find_node(t, word[i]);
		if (end == t->nodes)
			die("%s:%u: no host or switch %s above", file, line, word[i]);
		t->end[2 * t->links + i] = end;
	}
	t->rate[t->links] = parse_rate(file, line, word[2]);
	t->delay[t->links++] = parse_delay(file, line, word[3]);
}

/* One pass for each kind, so that hosts come first in the numbering. */
static void read_lines(struct topology *t, const char *file, const char *kind)
{
	char *text = NULL, *rest, *word;
	FILE *f = fopen(file, "r");
	size_t len = 0;
	u32 line = 0;

	if (!f)
		die("%s: %s", file, strerror(errno));
	while (getline(&text, &len, f) > 0) {
		line++;
		text[strcspn(text, "#")] = '\0';
		word = strtok_r(text, " \t\r\n", &rest);
		if (!word)
			continue;
		if (strcmp(word, "host") && strcmp(word, "switch") && strcmp(word, "link"))
			die("%s:%u: host, switch or link, not %s", file, line, word);
		if (strcmp(word, kind))
			continue;
		if (!strcmp(kind, "link")) {
			add_link(t, file, line, rest);
			continue;
		}
		while ((word = strtok_r(NULL, " \t\r\n", &rest)))
			add_node(t, file, line, word);
	}
	free(text);
	fclose(f);
}

static u32 other_end(const struct topology *t, u32 link, u32 node)
{
	return t->end[2 * link] == node ? t->end[2 * link + 1] : t->end[2 * link];
}

/* Dijkstra's algorithm from one host; the links of a node are @list[@first[node]] on. */
static void find_ways(struct topology *t, u32 host, const u32 *first, const u32 *list,
		      double *far, bool *done)
{
	u32 *next = t->next + (size_t)host * t->nodes, i, j, best;
	double d;

	for (i = 0; i < t->nodes; i++) {
		far[i] = -1;
		done[i] = false;
	}
	far[host] = 0;
	for (;;) {
		best = t->nodes;
		for (i = 0; i < t->nodes; i++) {
			if (!done[i] && far[i] >= 0 && (best == t->nodes || far[i] < far[best]))
				best = i;
		}
		if (best == t->nodes)
			break;
		done[best] = true;
		/* hosts do not pass on what is not for them */
		if (best < t->hosts && best != host)
			continue;
		for (j = first[best]; j < first[best + 1]; j++) {
			i = other_end(t, list[j], best);
			d = far[best] + t->delay[list[j]] + HOP;
			if (far[i] < 0 || d < far[i]) {
				far[i] = d;
				next[i] = list[j];
			}
		}
	}
	for (i = 0; i < t->hosts; i++) {
		if (far[i] < 0)
			die("no way between %s and %s", t->name[host], t->name[i]);
		t->far[(size_t)host * t->hosts + i] = far[i];
	}
}

static void find_all_ways(struct topology *t)
{
	u32 *first = need(calloc(t->nodes + 2, sizeof(*first)));
	u32 *list = need(calloc(2 * t->links + 1, sizeof(*list))), i;
	double *far = need(calloc(t->nodes, sizeof(*far)));
	bool *done = need(calloc(t->nodes, sizeof(*done)));

	t->next = need(calloc((size_t)t->hosts * t->nodes, sizeof(*t->next)));
	t->far = need(calloc((size_t)t->hosts * t->hosts, sizeof(*t->far)));
	for (i = 0; i < 2 * t->links; i++)
		first[t->end[i] + 2]++;
	for (i = 2; i <= t->nodes + 1; i++)
		first[i] += first[i - 1];
	for (i = 0; i < 2 * t->links; i++)
		list[first[t->end[i] + 1]++] = i / 2;
	for (i = 0; i < t->hosts; i++)
		find_ways(t, i, first, list, far, done);
	free(first);
	free(list);
	free(far);
	free(done);
}

void read_topology(struct topology *t, const char *file)
{
	memset(t, 0, sizeof(*t));
	t->name = need(calloc(MAX_NODES, sizeof(*t->name)));
	t->end = need(calloc(2 * MAX_LINKS, sizeof(*t->end)));
	t->rate = need(calloc(MAX_LINKS, sizeof(*t->rate)));
	t->delay = need(calloc(MAX_LINKS, sizeof(*t->delay)));
	read_lines(t, file, "host");
	t->hosts = t->nodes;
	read_lines(t, file, "switch");
	read_lines(t, file, "link");
	if (!t->hosts)
		die("%s: no hosts", file);
	find_all_ways(t);
}

void free_topology(struct topology *t)
{
	free(t->name);
	free(t->end);
	free(t->rate);
	free(t->delay);
	free(t->next);
	free(t->far);
}

double topology_slowest(const struct topology *t, u32 a, u32 b)
{
	double rate = 0;
	u32 link;

	for (; a != b; a = other_end(t, link, a)) {
		link = t->next[(size_t)b * t->nodes + a];
		if (!rate || t->rate[link] < rate)
			rate = t->rate[link];
	}
	return rate;
}

double topology_near(const struct topology *t, u32 host)
{
	const double *far = t->far + (size_t)host * t->hosts;
	double near = 0;
	u32 i;

	for (i = 0; i < t->hosts; i++) {
		if (i != host && (!near || far[i] < near))
			near = far[i];
	}
	return near;
}

/* Host names of one line into @host_of from @nr on; returns how many there are now. */
static u32 read_names(const struct topology *t, const char *file, char *line, bool *seen,
		      u32 *host_of, u32 nr)
{
	char *rest = line, *name;
	u32 host;

	line[strcspn(line, "#")] = '\0';
	while ((name = strtok_r(rest, " \t\r\n", &rest))) {
		host = find_node(t, name);
		if (host >= t->hosts || seen[host])
			die("%s: no host %s, or twice", file, name);
		seen[host] = true;
		host_of[nr++] = host;
	}
	return nr;
}

void read_order(const struct topology *t, const char *file, u32 *host_of)
{
	bool *seen = need(calloc(t->hosts, sizeof(*seen)));
	char *line = NULL;
	size_t len = 0;
	FILE *f = NULL;
	u32 nr = 0;

	if (file) {
		f = fopen(file, "r");
		if (!f)
			die("%s: %s", file, strerror(errno));
		while (getline(&line, &len, f) > 0)
			nr = read_names(t, file, line, seen, host_of, nr);
		fclose(f);
	} else {
		for (; nr < t->hosts; nr++)
			host_of[nr] = nr;
	}
	if (nr != t->hosts)
		die("%s: %u names for %u hosts", file, nr, t->hosts);
	free(line);
	free(seen);
}

/* Bytes of every message onto the links of its way; [2 * link + direction]. */
static double load_links(const struct topology *t, const struct schedule *s, u64 bytes,
			 u32 chunks, const u32 *host_of, double *load, double *stretch)
{
	double near = 0, way = 0, total = 0, size;
	u32 p, a, b, link;
	u64 i;

	for (p = 0; p < s->n; p++) {
		for (i = s->base[p]; i < s->base[p + 1]; i++) {
			const struct coll_step *x = &s->steps[i];

			if (x->kind != COLL_STEP_SEND)
				continue;
			a = host_of[p];
			b = host_of[x->peer];
			way += t->far[(size_t)b * t->hosts + a];
			near += topology_near(t, a);
			size = step_bytes(x, bytes, chunks);
			total += size;
			for (; a != b; a = other_end(t, link, a)) {
				link = t->next[(size_t)b * t->nodes + a];
				load[2 * link + (t->end[2 * link] != a)] += size;
			}
		}
	}
	*stretch = near > 0 ? way / near : 1;
	return total;
}

static const double *sort_load;

static int by_load(const void *x, const void *y)
{
	double a = sort_load[*(const u32 *)x], b = sort_load[*(const u32 *)y];

	return a < b ? 1 : a > b ? -1 : *(const u32 *)x < *(const u32 *)y ? -1 : 1;
}

static void print_links(const struct topology *t, const double *load)
{
	u32 *order = need(calloc(2 * t->links, sizeof(*order))), i, shown;

	for (i = 0; i < 2 * t->links; i++)
		order[i] = i;
	sort_load = load;
	qsort(order, 2 * t->links, sizeof(*order), by_load);
	shown = 2 * t->links < 40 ? 2 * t->links : 20;
	for (i = 0; i < shown; i++) {
		u32 link = order[i] / 2, back = order[i] & 1;

		printf("  %-20s -> %-20s %14.0f bytes %12.2f us\n", t->name[t->end[2 * link + back]],
		       t->name[t->end[2 * link + !back]], load[order[i]],
		       load[order[i]] / t->rate[link] * 1e6);
	}
	if (shown < 2 * t->links)
		printf("  and %u more\n", 2 * t->links - shown);
	free(order);
}

void topology_cost(const struct topology *t, const struct coll_algorithm *a, u32 root, u32 radix,
		   u64 bytes, const u32 *host_of, struct model *m)
{
	double *load = need(calloc(2 * t->links + 1, sizeof(*load))), stretch, total, busiest = 0;
	struct schedule s;
	struct cost c;
	u32 i;

	m->topology = t;
	m->host_of = host_of;
	root = is_rooted(a->collective) ? root : 0;
	load_schedule(&s, a, t->hosts, root, radix);
	total = load_links(t, &s, bytes, a->chunks(t->hosts), host_of, load, &stretch);
	free_schedule(&s);
	cost_of(a, t->hosts, root, radix, bytes, m, &c);
	for (i = 0; i < 2 * t->links; i++)
		busiest = load[i] / t->rate[i / 2] > busiest ? load[i] / t->rate[i / 2] : busiest;
	printf("%s %s, %u hosts, %llu bytes: %.0f bytes sent, average path stretch %.3f\n",
	       collective_name(a->collective), a->name, t->hosts, (unsigned long long)bytes, total,
	       stretch);
	printf("time %.2f us if nobody meets on a link (%s), %.2f us on the busiest link\n",
	       c.seconds * 1e6, c.simulated ? "simulation" : "formulas, no delays", busiest * 1e6);
	print_links(t, load);
	free(load);
}
