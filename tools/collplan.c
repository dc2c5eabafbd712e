// SPDX-License-Identifier: GPL-2.0
/*
 * collplan: look at the schedules of collectives without running them. The schedules
 * are those of the kernel and the library: kmod/pure is compiled in.
 */
#include <errno.h>
#include <stdarg.h>

#include "collplan.h"

static const char usage[] =
"usage: collplan list\n"
"       collplan check [COLLECTIVE|ALGORITHM] [--max N] [--jobs N] [--tap]\n"
"       collplan show COLLECTIVE ALGORITHM -p N [-r ROOT] [-k RADIX] [--svg FILE]\n"
"       collplan cost [COLLECTIVE [ALGORITHM]] -p N -b BYTES [-r ROOT] [-k RADIX] [MODEL]\n"
"       collplan cost COLLECTIVE -p N --crossover [MODEL]\n"
"       collplan cost COLLECTIVE ALGORITHM -b BYTES --topology FILE [--order FILE]\n"
"       collplan order TOPOLOGY [--exact|--heuristic]\n"
"\n"
"list    all algorithms and what they need\n"
"check   prove the schedules: values, order, races, deadlock, formulas\n"
"show    the schedule step by step, as text or as a picture\n"
"cost    transfers, bytes and time\n"
"order   an order of ranks with short ways between neighbours\n"
"\n"
"MODEL   --alpha SECONDS     delay of a message (10e-6)\n"
"        --beta SECONDS      per byte (0.8e-9: 10 Gbit/s)\n"
"        --gamma SECONDS     per byte folded (0.1e-9)\n"
"        --overhead SECONDS  a message occupies its sender (alpha / 10)\n"
"        --segment BYTES     of pipelining (64K); 0: none\n"
"BYTES   of the whole vector, n blocks of allgather and the like; k, M, G are powers\n"
"        of 1024\n"
"\n"
"A topology is a text file, one thing on each line, # begins a comment:\n"
"        host NAME...                    ranks in this order, if no --order is given\n"
"        switch NAME...\n"
"        link A B RATE DELAY             both ways; RATE in bit/s (10G), DELAY in\n"
"                                        seconds (5e-6) or with unit (5us, 1ms)\n"
"An order is a text file of host names, rank 0 first. Examples: tools/examples/topology-*\n";

static const char *const names[COLL_NR_COLLECTIVES] = {
	[COLL_BARRIER] = "barrier", [COLL_BROADCAST] = "broadcast", [COLL_REDUCE] = "reduce",
	[COLL_ALLREDUCE] = "allreduce", [COLL_REDUCE_SCATTER] = "reduce_scatter",
	[COLL_ALLGATHER] = "allgather", [COLL_GATHER] = "gather", [COLL_SCATTER] = "scatter",
	[COLL_ALLTOALL] = "alltoall", [COLL_SCAN] = "scan", [COLL_EXSCAN] = "exscan",
};

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("collplan: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

void *need(void *p)
{
	if (!p)
		die("out of memory");
	return p;
}

const char *collective_name(u32 collective)
{
	return collective < COLL_NR_COLLECTIVES && names[collective] ? names[collective] : "?";
}

u32 collective_number(const char *name)
{
	u32 i;

	for (i = 0; i < COLL_NR_COLLECTIVES; i++) {
		if (names[i] && !strcmp(names[i], name))
			return i;
	}
	return 0;
}

bool is_rooted(u32 collective)
{
	return collective == COLL_BROADCAST || collective == COLL_REDUCE ||
	       collective == COLL_GATHER || collective == COLL_SCATTER;
}

const struct coll_algorithm *find_algorithm(const char *collective, const char *name)
{
	const struct coll_algorithm *a;
	u32 i, number = collective_number(collective);

	if (!number)
		die("no schedules for the collective %s", collective);
	for (i = 0; (a = coll_algorithm_at(i)); i++) {
		if (a->collective == number && !strcmp(a->name, name))
			return a;
	}
	die("%s has no algorithm %s (collplan list)", collective, name);
}

double parse_number(const char *s)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(s, &end);
	if (end == s || *end || errno || !(v >= 0))
		die("not a number: %s", s);
	return v;
}

u64 parse_bytes(const char *s)
{
	static const char units[] = "kMGT";
	const char *unit;
	char *end;
	double v = strtod(s, &end);

	if (end == s || !(v >= 0))
		die("not a size: %s", s);
	unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	if (unit) {
		v *= 1ULL << 10 * (unit - units + 1);
		end++;
	}
	if (*end || v > 1e15)
		die("not a size: %s", s);
	return (u64)v;
}

static u32 emit(const struct coll_algorithm *a, struct coll_emit *e, u32 n, u32 me, u32 root)
{
	if (a->emit(e, n, me, root))
		die("%s %s does not work for %u participants, root %u, radix %u",
		    collective_name(a->collective), a->name, n, root, e->radix);
	return e->nr;
}

void load_schedule(struct schedule *s, const struct coll_algorithm *a, u32 n, u32 root,
		   u32 radix)
{
	u64 nr = 0;
	u32 p;

	s->n = n;
	s->base = need(calloc(n + 1, sizeof(*s->base)));
	for (p = 0; p < n; p++) {
		struct coll_emit e = { .radix = radix };

		s->base[p] = nr;
		nr += emit(a, &e, n, p, root);
	}
	s->base[n] = nr;
	s->steps = need(calloc(nr + 1, sizeof(*s->steps)));
	for (p = 0; p < n; p++) {
		struct coll_emit e = {
			.radix = radix, .steps = s->steps + s->base[p],
			.cap = s->base[p + 1] - s->base[p],
		};

		emit(a, &e, n, p, root);
	}
}

void free_schedule(struct schedule *s)
{
	free(s->steps);
	free(s->base);
}

static int cmd_list(void)
{
	const struct coll_algorithm *a;
	u32 i;

	printf("%-15s %-19s %3s  %s\n", "collective", "algorithm", "id", "needs and promises");
	for (i = 0; (a = coll_algorithm_at(i)); i++)
		printf("%-15s %-19s %3u %s%s%s%s%s%s%s%s%s\n", collective_name(a->collective),
		       a->name, a->id, a->flags & COLL_ALG_RANKS ? " ranks" : "",
		       a->flags & COLL_ALG_INPUT ? " input" : "",
		       a->flags & COLL_ALG_TMP ? " tmp" : "",
		       a->flags & COLL_ALG_LAST ? " last" : "",
		       a->flags & COLL_ALG_EQUAL ? " equal" : "",
		       a->flags & COLL_ALG_DIRECT ? " direct" : "",
		       a->flags & COLL_ALG_ORDERED ? " ordered" : "",
		       a->flags & COLL_ALG_HAS_RADIX ? " radix" : "",
		       a->flags & COLL_ALG_ONE_PLACE ? " one_place" : "");
	printf("\nranks: participants are ranks, never nodes. input: reads one rank's input.\n"
	       "tmp: needs scratch. last: local folds, or both orders of operands.\n"
	       "equal: blocks of one size only. direct: blocks go straight to where they\n"
	       "belong. ordered: folds in the order of participants. radix: takes a radix.\n"
	       "one_place: one participant sums a chunk up, the others get a copy.\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";

	if (!strcmp(cmd, "list"))
		return cmd_list();
	if (!strcmp(cmd, "check"))
		return cmd_check(argc - 2, argv + 2);
	if (!strcmp(cmd, "show"))
		return cmd_show(argc - 2, argv + 2);
	if (!strcmp(cmd, "cost"))
		return cmd_cost(argc - 2, argv + 2);
	if (!strcmp(cmd, "order"))
		return cmd_order(argc - 2, argv + 2);
	if (!strcmp(cmd, "--help") || !strcmp(cmd, "-h") || !strcmp(cmd, "help")) {
		fputs(usage, stdout);
		return 0;
	}
	fputs(usage, stderr);
	return 2;
}
