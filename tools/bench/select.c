// SPDX-License-Identifier: GPL-2.0
/*
 * make bench-select, one communicator: every algorithm of some collectives at some
 * sizes, and which of them the library has chosen. Run as a rank by collrun, a node each.
 *
 * usage: select LABEL MAXBYTES
 *
 * Algorithms take turns, each time in another order. Of each run the slowest rank
 * counts, of all runs the median. Rank 0 prints, separated by tabs: ROW, LABEL, nodes,
 * collective, bytes, algorithm, microseconds, those of the lower quartile, runs, 1 if it
 * is the chosen one. INIT: milliseconds of coll_init(), which chooses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <coll/coll.h>

#include "schedule.h"

#define MAX_RUNS	101
#define MIN_RUNS	5
#define MAX_ALGS	16
/* Enough for a point, in seconds; all ranks go by the times of the slowest. */
#define ENOUGH		2
/* Who took that much longer than the best is timed no more, it can be neither. */
#define HOPELESS	2

struct point {
	coll_comm_t *comm;
	const char *label;
	enum coll_collective what;
	uint64_t bytes;
	uint32_t nr;
	const struct coll_algorithm *alg[MAX_ALGS];
	double time[MAX_ALGS][MAX_RUNS];
	uint32_t runs[MAX_ALGS];
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

static void run(const struct point *p, uint32_t i)
{
	struct coll_cmd cmd;
	int ret;

	if (p->what == COLL_BROADCAST)
		coll_cmd_broadcast(p->comm, &cmd, out, p->bytes / 4, COLL_F32, 0);
	else
		coll_cmd_allreduce(p->comm, &cmd, in, out, p->bytes / 4, COLL_F32, COLL_OP_SUM);
	cmd.algorithm = p->alg[i]->id;
	ret = coll_submit(p->comm, &cmd);
	if (ret)
		die(p, p->alg[i]->name, ret);
}

static int cmp(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* @quarters of the runs took no longer: 2 is the median. */
static double quantile(const struct point *p, uint32_t i, uint32_t quarters)
{
	double sorted[MAX_RUNS];
	uint32_t n = p->runs[i];

	memcpy(sorted, p->time[i], n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), cmp);
	return sorted[(n - 1) * quarters / 4];
}

static double median(const struct point *p, uint32_t i)
{
	return quantile(p, i, 2);
}

/*
 * Another order each time, the same on all ranks: who goes first leaves things behind, and
 * in a fixed order always for the same one. Numbers: Knuth's MMIX.
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

/* One turn of all that are in it. Return: seconds by the slowest rank. */
static double turn(struct point *p, uint32_t round, const uint8_t *is_in, bool keep)
{
	double times[MAX_ALGS] = { 0 }, begin, sum = 0;
	uint32_t order[MAX_ALGS], k, i;
	int ret;

	shuffle(order, p->nr, round);
	for (k = 0; k < p->nr; k++) {
		i = order[k];
		if (!is_in[i])
			continue;
		ret = coll_barrier(p->comm);
		if (ret)
			die(p, "barrier", ret);
		begin = now();
		run(p, i);
		times[i] = now() - begin;
	}
	ret = coll_allreduce(p->comm, COLL_IN_PLACE, times, p->nr, COLL_F64, COLL_OP_MAX);
	if (ret)
		die(p, "allreduce of times", ret);
	for (i = 0; i < p->nr; i++) {
		sum += times[i];
		if (keep && is_in[i])
			p->time[i][p->runs[i]++] = times[i];
	}
	return sum;
}

static void measure(struct point *p)
{
	const char *chosen = coll_comm_algorithm(p->comm, p->what, p->bytes);
	uint8_t is_in[MAX_ALGS];
	double spent = 0, best = 0;
	uint32_t i, round;

	memset(is_in, 1, sizeof(is_in));
	memset(p->runs, 0, sizeof(p->runs));
	/* Of short ones, the first is to warm up; of long ones it shows who is hopeless. */
	if (p->bytes <= 1 << 20)
		turn(p, 0, is_in, false);
	for (round = 0; round < MAX_RUNS && (round < MIN_RUNS || spent < ENOUGH); round++) {
		spent += turn(p, round, is_in, true);
		for (i = 0, best = 0; i < p->nr; i++)
			if (!best || median(p, i) < best)
				best = median(p, i);
		for (i = 0; i < p->nr; i++)
			is_in[i] = median(p, i) < HOPELESS * best ||
				   !strcmp(p->alg[i]->name, chosen);
	}
	for (i = 0; i < p->nr && !coll_comm_rank(p->comm); i++)
		printf("ROW\t%s\t%u\t%s\t%llu\t%s\t%.2f\t%.2f\t%u\t%d\n", p->label,
		       coll_comm_nodes(p->comm), p->what == COLL_BROADCAST ? "broadcast" : "allreduce",
		       (unsigned long long)p->bytes, p->alg[i]->name, median(p, i) * 1e6,
		       quantile(p, i, 1) * 1e6, p->runs[i], !strcmp(p->alg[i]->name, chosen));
	fflush(stdout);
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
	struct point p = { .label = argv[1] };
	const struct coll_algorithm *a;
	uint64_t max = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	double begin = now();
	uint32_t w, i;
	int ret;

	if (argc != 3 || max < 4)
		return 2;
	ret = coll_init(NULL, &p.comm);
	if (ret) {
		fprintf(stderr, "select: coll_init: %s\n", coll_strerror(ret));
		return 1;
	}
	if (!coll_comm_rank(p.comm))
		printf("INIT\t%s\t%u\t%.1f\n", p.label, coll_comm_nodes(p.comm),
		       (now() - begin) * 1e3);
	in = vector(max);
	out = vector(max);
	if (!in || !out)
		die(&p, "buffers", ENOMEM);
	for (w = 0; w < sizeof(whats) / sizeof(whats[0]); w++) {
		p.what = whats[w];
		for (p.nr = 0, i = 0; (a = coll_algorithm_at(i)) && p.nr < MAX_ALGS; i++)
			if (a->collective == p.what)
				p.alg[p.nr++] = a;
		for (p.bytes = 4; p.bytes <= max; p.bytes *= 16)
			measure(&p);
	}
	return coll_finalize(p.comm) != 0;
}
