// SPDX-License-Identifier: GPL-2.0
/*
 * make bench-select, one communicator: every algorithm of some collectives at some
 * sizes, and which of them the library has chosen. Run as a rank by collrun, a node each.
 *
 * usage: select LABEL MAXBYTES
 *
 * The field: algorithms take turns, each turn in another order. A run of short ops is many of them,
 * one after the other, each with another root. The slowest rank of each run counts, and the median
 * of all runs. An algorithm that is clearly slower drops out. The least of eleven medians is too
 * small by chance. So the algorithm that seems best and the chosen one then run again, alone, by
 * turns, and only these new runs count: the duel. Algorithms with the same schedule, step by step,
 * differ by noise alone. It is printed how much that is.
 *
 * Rank 0 prints, separated by tabs, each behind LABEL, nodes, collective, bytes:
 *	ROW	algorithm, median, lower quartile, runs, 1 if it is the chosen one
 *	DUEL	best, its median, chosen, its median, pairs of runs, how: "duel", "best"
 *		(the chosen one came out first) or "same" (as the best one: one schedule)
 *	NOISE	the largest ratio of medians with one schedule
 * Times in microseconds. INIT, LABEL, nodes: milliseconds of coll_init(), which chooses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <coll/coll.h>

#include "algorithms/table.h"
#include "select/select_fill.h"

#define MAX_RUNS	101
/* Runs for long vectors and for others, if the time below is not up earlier. */
#define MIN_RUNS	3
#define MORE_RUNS	9
#define MAX_ALGS	16
/* Enough for a field and for a duel, in seconds of all ranks' slowest. */
#define FIELD_TIME	1.2
#define DUEL_TIME	0.8
/* An algorithm that took that much longer than the best, here or before, is timed no more. */
#define HOPELESS	1.6
#define HOPELESS_BEFORE	2.5
#define IS_LONG		(8 << 20)
/* Ops in a run: as many as take so many seconds, see run(). */
#define RUN_TIME	2e-3
#define MAX_BATCH	64

/**
 * struct entry - who takes part
 * @segment: 0: the kernel's
 * @before: its time with shorter vectors, divided by that of the best one
 * @twin: an earlier one with the same schedule; itself: none
 */
struct entry {
	const struct coll_algorithm *alg;
	uint32_t segment;
	double before;
	uint32_t twin;
	uint32_t runs;
	double time[MAX_RUNS];
};

struct point {
	coll_comm_t *comm;
	const char *label;
	enum coll_collective what;
	uint64_t bytes;
	uint32_t batch;
	uint32_t nr;
	struct entry who[MAX_ALGS];
};

static uint8_t *in, *out;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const struct point *p, const char *what, int err)
{
	fprintf(stderr, "select: rank %u: %s: %s\n", coll_comm_rank(p->comm), what,
		coll_strerror(err));
	exit(1);
}

/*
 * Run ops behind a barrier, one after the other, enough of them to measure, each with another root.
 * Return: seconds per op. The time of a single short op would depend on the rank that left the
 * barrier first. With one root, the root of broadcasts would end all of them before the last rank
 * had got the first. @algorithm COLL_ALG_AUTO: as an application does. The barrier is always the
 * same one, not the one of the library's tables.
 */
static double run(const struct point *p, uint32_t algorithm, uint32_t segment)
{
	struct coll_cmd cmd, wait;
	double begin;
	uint32_t i;
	int ret;

	coll_cmd_barrier(p->comm, &wait);
	wait.algorithm = COLL_ALG_DISSEMINATION;
	ret = coll_submit(p->comm, &wait);
	if (ret)
		die(p, "barrier", ret);
	begin = now();
	for (i = 0; i < p->batch; i++) {
		if (p->what == COLL_BROADCAST)
			coll_cmd_broadcast(p->comm, &cmd, out, p->bytes / 4, COLL_F32,
					   i % coll_comm_size(p->comm));
		else
			coll_cmd_allreduce(p->comm, &cmd, in, out, p->bytes / 4, COLL_F32,
					   COLL_OP_SUM);
		cmd.algorithm = (uint16_t)algorithm;
		cmd.segment = segment;
		ret = coll_submit(p->comm, &cmd);
		if (ret)
			die(p, "collective", ret);
	}
	return (now() - begin) / p->batch;
}

static void slowest(const struct point *p, double *times, uint64_t nr)
{
	int ret = coll_allreduce(p->comm, COLL_IN_PLACE, times, nr, COLL_F64, COLL_OP_MAX);

	if (ret)
		die(p, "allreduce of times", ret);
}

static int cmp(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* @quarters of the runs took no longer: 2 is the median. */
static double quantile(const double *time, uint32_t n, uint32_t quarters)
{
	double sorted[MAX_RUNS];

	if (!n)
		return 0;
	memcpy(sorted, time, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), cmp);
	return sorted[(n - 1) * quarters / 4];
}

static double median(const struct entry *e)
{
	return quantile(e->time, e->runs, 2);
}

/*
 * Another order each time, the same on all ranks: an algorithm leaves the caches in a state
 * that the next one profits from, and in a fixed order it would always be the same one.
 * Numbers: Knuth's MMIX.
 */
static void shuffle(uint32_t *order, uint32_t nr, uint32_t round)
{
	uint64_t lot = round;
	uint32_t i, k, swap;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		lot = lot * 6364136223846793005ULL + 1442695040888963407ULL;
		k = (uint32_t)((lot >> 33) % i);
		swap = order[k];
		order[k] = order[i - 1];
		order[i - 1] = swap;
	}
}

/* One turn of all algorithms in @is_in. Return: seconds of all its ops, by the slowest ranks. */
static double turn(struct point *p, uint32_t round, const uint8_t *is_in, bool keep)
{
	double times[MAX_ALGS] = { 0 }, sum = 0;
	uint32_t order[MAX_ALGS], k, i;

	shuffle(order, p->nr, round);
	for (k = 0; k < p->nr; k++) {
		i = order[k];
		if (is_in[i])
			times[i] = run(p, p->who[i].alg->id, p->who[i].segment);
	}
	slowest(p, times, p->nr);
	for (i = 0; i < p->nr; i++) {
		sum += times[i] * p->batch;
		if (keep && is_in[i])
			p->who[i].time[p->who[i].runs++] = times[i];
	}
	return sum;
}

static uint32_t best_of(const struct point *p)
{
	uint32_t i, best = 0;

	for (i = 0; i < p->nr; i++)
		if (p->who[i].runs &&
		    (!p->who[best].runs || median(&p->who[i]) < median(&p->who[best])))
			best = i;
	return best;
}

/* Return: the best one. */
static uint32_t field(struct point *p, uint32_t chosen)
{
	uint32_t min = p->bytes >= IS_LONG ? MIN_RUNS : MORE_RUNS, i, round, best = 0;
	uint8_t is_in[MAX_ALGS];
	double spent = 0;

	for (i = 0; i < p->nr; i++) {
		p->who[i].runs = 0;
		is_in[i] = p->who[i].before <= HOPELESS_BEFORE || i == chosen;
	}
	/* The first run of short vectors warms up; of long ones it shows what is hopeless. */
	if (p->bytes < IS_LONG)
		turn(p, 0, is_in, false);
	for (round = 0; round < MAX_RUNS && (round < min || spent < FIELD_TIME); round++) {
		spent += turn(p, round, is_in, true);
		best = best_of(p);
		/* One run proves little, except if it took seconds. */
		for (i = 0; i < p->nr && (round > 1 || p->bytes >= IS_LONG); i++)
			if (median(&p->who[i]) > HOPELESS * median(&p->who[best]) && i != chosen)
				is_in[i] = 0;
	}
	for (i = 0; i < p->nr; i++)
		if (p->who[i].runs)
			p->who[i].before = median(&p->who[i]) / median(&p->who[best]);
	return best;
}

/* Return: number of pairs of runs. @t: medians of the best algorithm and of the chosen one. */
static uint32_t duel(const struct point *p, uint32_t best, double *t)
{
	uint32_t min = p->bytes >= IS_LONG ? MIN_RUNS : MORE_RUNS, n;
	double a[MAX_RUNS], b[MAX_RUNS], pair[2], spent = 0;

	for (n = 0; n < MAX_RUNS && (n < min || spent < DUEL_TIME); n++) {
		if (n % 2)
			pair[1] = run(p, COLL_ALG_AUTO, 0);
		pair[0] = run(p, p->who[best].alg->id, p->who[best].segment);
		if (!(n % 2))
			pair[1] = run(p, COLL_ALG_AUTO, 0);
		slowest(p, pair, 2);
		a[n] = pair[0];
		b[n] = pair[1];
		spent += (pair[0] + pair[1]) * p->batch;
	}
	t[0] = quantile(a, n, 2);
	t[1] = quantile(b, n, 2);
	return n;
}

static const char *name_of(const struct entry *e, char *text, size_t len)
{
	if (e->segment)
		snprintf(text, len, "%s/%u", e->alg->name, e->segment);
	else
		snprintf(text, len, "%s", e->alg->name);
	return text;
}

static void print_head(const struct point *p, const char *kind)
{
	printf("%s\t%s\t%u\t%s\t%llu", kind, p->label, coll_comm_nodes(p->comm),
	       p->what == COLL_BROADCAST ? "broadcast" : "allreduce",
	       (unsigned long long)p->bytes);
}

static void print_field(const struct point *p, uint32_t chosen)
{
	double noise = 0, ratio;
	char name[48];
	uint32_t i;

	for (i = 0; i < p->nr; i++) {
		const struct entry *e = &p->who[i], *twin = &p->who[e->twin];

		if (!e->runs)
			continue;
		print_head(p, "ROW");
		printf("\t%s\t%.2f\t%.2f\t%u\t%d\n", name_of(e, name, sizeof(name)),
		       median(e) * 1e6, quantile(e->time, e->runs, 1) * 1e6, e->runs, i == chosen);
		if (e == twin || !twin->runs)
			continue;
		ratio = median(e) / median(twin);
		ratio = ratio < 1 ? 1 / ratio : ratio;
		noise = ratio > noise ? ratio : noise;
	}
	if (noise > 0) {
		print_head(p, "NOISE");
		printf("\t%.4f\n", noise);
	}
}

/* Return: the entry of the chosen algorithm. It is added if its segment is not the kernel's. */
static uint32_t find_chosen(struct point *p)
{
	struct coll_select_row row;
	uint32_t i;

	if (coll_comm_choice(p->comm, p->what, p->bytes, &row))
		die(p, "no choice", EINVAL);
	for (i = 0; i < p->nr; i++)
		if (p->who[i].alg->id == row.algorithm && p->who[i].segment == row.segment)
			return i;
	if (p->nr == MAX_ALGS)
		die(p, "too many algorithms", EINVAL);
	memset(&p->who[i], 0, sizeof(p->who[i]));
	p->who[i].alg = coll_algorithm_find(p->what, row.algorithm);
	p->who[i].segment = row.segment;
	p->who[i].twin = i;
	return p->nr++;
}

/* Set @batch, the same on all ranks, by the time of the chosen algorithm, warm if ops are short. */
static void find_batch(struct point *p)
{
	uint32_t n = coll_comm_size(p->comm);
	double t;

	p->batch = 1;
	t = run(p, COLL_ALG_AUTO, 0);
	if (p->bytes < IS_LONG)
		t = run(p, COLL_ALG_AUTO, 0);
	slowest(p, &t, 1);
	p->batch = t * MAX_BATCH > RUN_TIME ? (uint32_t)(RUN_TIME / t) : MAX_BATCH;
	if (p->batch > n)
		p->batch -= p->batch % n;
	if (!p->batch)
		p->batch = 1;
}

static void measure(struct point *p)
{
	uint32_t all = p->nr, chosen = find_chosen(p), best, pairs;
	const char *how = "duel";
	char a[48], b[48];
	double t[2];

	find_batch(p);
	best = field(p, chosen);
	t[0] = median(&p->who[best]);
	t[1] = median(&p->who[chosen]);
	pairs = p->who[best].runs;
	if (best == chosen) {
		how = "best";
	} else if (p->who[best].twin == p->who[chosen].twin) {
		/* Both have the same schedule. */
		how = "same";
		t[1] = t[0];
	} else {
		pairs = duel(p, best, t);
	}
	if (!coll_comm_rank(p->comm)) {
		print_field(p, chosen);
		print_head(p, "DUEL");
		printf("\t%s\t%.2f\t%s\t%.2f\t%u\t%s\n", name_of(&p->who[best], a, sizeof(a)),
		       t[0] * 1e6, name_of(&p->who[chosen], b, sizeof(b)), t[1] * 1e6, pairs, how);
		fflush(stdout);
	}
	p->nr = all;
}

/* All algorithms of a collective. */
static void gather_field(struct point *p)
{
	uint32_t n = coll_comm_nodes(p->comm), i, k;
	const struct coll_algorithm *a;

	for (p->nr = 0, i = 0; (a = coll_algorithm_at(i)) && p->nr + 1 < MAX_ALGS; i++) {
		if (a->collective != p->what)
			continue;
		memset(&p->who[p->nr], 0, sizeof(p->who[p->nr]));
		p->who[p->nr].alg = a;
		for (k = 0; k < p->nr; k++)
			if (select_same_schedule(p->who[k].alg, a, n))
				break;
		p->who[p->nr++].twin = k;
	}
}

static void *vector(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
	static const enum coll_collective whats[] = { COLL_ALLREDUCE, COLL_BROADCAST };
	struct point *p = calloc(1, sizeof(*p));
	uint64_t max = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	double begin = now();
	uint32_t w;
	int ret;

	if (argc != 3 || max < 4 || !p)
		return 2;
	p->label = argv[1];
	ret = coll_init(NULL, &p->comm);
	if (ret) {
		fprintf(stderr, "select: coll_init: %s\n", coll_strerror(ret));
		return 1;
	}
	if (!coll_comm_rank(p->comm))
		printf("INIT\t%s\t%u\t%.1f\n", p->label, coll_comm_nodes(p->comm),
		       (now() - begin) * 1e3);
	in = vector(max);
	out = vector(max);
	if (!in || !out)
		die(p, "buffers", ENOMEM);
	for (w = 0; w < sizeof(whats) / sizeof(whats[0]); w++) {
		p->what = whats[w];
		gather_field(p);
		for (p->bytes = 4; p->bytes <= max; p->bytes *= 16)
			measure(p);
	}
	return coll_finalize(p->comm) != 0;
}
