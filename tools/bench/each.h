/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every collective, the same measurements for every contender. A program takes a task for each
 * size, BYTES:ITERATIONS:WARMUP. Bytes are those of the vector, or of the blocks of all ranks, of
 * which each has one float at least. Lines of results, with tabs:
 *
 *	ROW collective ranks bytes us VALUE		a barrier before each op, of each the time of the
 *							slowest rank; the median
 *	ROW collective ranks bytes switches VALUE	back to back: switches of context, of an op and
 *							a rank
 *	ROW collective ranks bytes calls VALUE		the same of system calls, where syscount counts
 *	ROW collective ranks bytes marks VALUE		number of ops between two markers of rank 0,
 *							times the number of ranks; if EACH_MARKS is
 *							set (collvm run --count)
 *
 * Where something is counted nothing is timed, because counting slows the ops down. After the times of
 * a size, and outside of them, one result is verified; a wrong element ends the program.
 */
#ifndef EACH_H
#define EACH_H

#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bench.h"

#define EACH_RANKS	64

enum each_what {
	EACH_BARRIER, EACH_BROADCAST, EACH_REDUCE, EACH_ALLREDUCE, EACH_REDUCE_SCATTER,
	EACH_REDUCE_SCATTER_BLOCK, EACH_ALLGATHER, EACH_ALLGATHERV, EACH_GATHER, EACH_GATHERV,
	EACH_SCATTER, EACH_SCATTERV, EACH_ALLTOALL, EACH_ALLTOALLV, EACH_SCAN, EACH_EXSCAN,
	EACH_NR
};

static const char *const each_names[EACH_NR] = {
	"barrier", "broadcast", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
	"allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv", "alltoall",
	"alltoallv", "scan", "exscan",
};

/**
 * struct each - a contender, in one rank of it
 * @set_counts: from now on all blocks of v-forms have @count elements
 * @run: do a collective once, with rank 0 as root
 * @collect: all ranks get the sum, or the largest, of each of @n numbers
 */
struct each {
	int rank, ranks;
	void (*set_counts)(size_t count);
	void (*run)(enum each_what what, float *in, float *out, size_t count);
	void (*collect)(double *v, int n, int largest);
};

static inline int each_has_blocks(enum each_what what)
{
	return what >= EACH_REDUCE_SCATTER && what <= EACH_ALLTOALLV;
}

/* Elements of the vector, or of a block. */
static inline size_t each_count(const struct each *e, enum each_what what, size_t bytes)
{
	size_t count = bytes / sizeof(float);

	if (each_has_blocks(what))
		count /= (size_t)e->ranks;
	return count ? count : 1;
}

/* The counts of v-forms are set once, before their time is taken. */
static inline size_t each_begin(const struct each *e, enum each_what what, size_t bytes)
{
	size_t count = each_count(e, what, bytes);

	e->set_counts(count);
	return count;
}

static inline void each_row(const struct each *e, enum each_what what, size_t bytes,
			    const char *metric, double value)
{
	if (e->rank)
		return;
	printf("ROW\t%s\t%d\t%zu\t%s\t%.6g\n", each_names[what], e->ranks, bytes, metric, value);
	fflush(stdout);
}

static inline double each_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_nvcsw + u.ru_nivcsw);
}

/* Where syscount counts: twice the system calls of this process so far; else NULL. */
static inline const volatile uint64_t *each_calls(void)
{
	const char *fd = getenv("SYSCOUNT_FD");
	void *p;

	if (!fd)
		return NULL;
	p = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, atoi(fd), 0);
	return p == MAP_FAILED ? NULL : (const volatile uint64_t *)p;
}

static inline int each_marks(void)
{
	return !!getenv("EACH_MARKS");
}

/* tools/vm/count.c looks for it. Without that plugin it does nothing. */
static inline void each_mark(void)
{
#ifdef __x86_64__
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, 'c', 'o', 'l', 'l'" ::: "memory");
#endif
}

/* Ops back to back, between two markers. */
static inline void each_mark_batch(const struct each *e, enum each_what what,
				   const struct bench_size *z, float *in, float *out)
{
	size_t count = each_begin(e, what, z->bytes);
	int i;

	for (i = 0; i < z->warmup + 1; i++)
		e->run(what, in, out, count);
	e->run(EACH_BARRIER, in, out, 0);
	if (!e->rank)
		each_mark();
	for (i = 0; i < z->iters; i++)
		e->run(what, in, out, count);
	e->run(EACH_BARRIER, in, out, 0);
	if (!e->rank)
		each_mark();
	each_row(e, what, z->bytes, "marks", (double)z->iters * e->ranks);
}

/* Ops back to back. */
static inline void each_batch(const struct each *e, enum each_what what, const struct bench_size *z,
			      float *in, float *out, const volatile uint64_t *calls)
{
	size_t count = each_begin(e, what, z->bytes);
	double switches, v[2];
	uint64_t before;
	int i;

	for (i = 0; i < z->warmup + 1; i++)
		e->run(what, in, out, count);
	e->run(EACH_BARRIER, in, out, 0);
	switches = each_switches();
	before = calls ? *calls : 0;
	for (i = 0; i < z->iters; i++)
		e->run(what, in, out, count);
	v[1] = calls ? (double)(*calls - before) / 2 : 0;
	v[0] = each_switches() - switches;
	e->collect(v, 2, 0);
	each_row(e, what, z->bytes, calls ? "calls" : "switches",
		 v[calls ? 1 : 0] / z->iters / e->ranks);
}

static inline void each_time(const struct each *e, enum each_what what, const struct bench_size *z,
			     float *in, float *out, double *times)
{
	size_t count = each_begin(e, what, z->bytes);
	double begin;
	int i;

	for (i = -z->warmup; i < z->iters; i++) {
		e->run(EACH_BARRIER, in, out, 0);
		begin = bench_now_us();
		e->run(what, in, out, count);
		if (i >= 0)
			times[i] = bench_now_us() - begin;
	}
	e->collect(times, z->iters, 1);
	each_row(e, what, z->bytes, "us", bench_median(times, z->iters));
}

/* Whole numbers, so that sums are exact. They repeat after a prime number of elements. */
static inline float each_value(int rank, size_t i)
{
	return (float)(i % 4093 + 5 * (size_t)rank);
}

static inline float each_sum(int ranks, size_t i)
{
	return (float)((size_t)ranks * (i % 4093) + 5 * (size_t)(ranks * (ranks - 1) / 2));
}

/* How many elements of the output this rank gets. */
static inline size_t each_length(const struct each *e, enum each_what what, size_t count)
{
	switch (what) {
	case EACH_BARRIER:
		return 0;
	case EACH_REDUCE:
		return e->rank ? 0 : count;
	case EACH_EXSCAN:
		return e->rank ? count : 0;
	case EACH_GATHER: case EACH_GATHERV:
		return e->rank ? 0 : count * (size_t)e->ranks;
	case EACH_ALLGATHER: case EACH_ALLGATHERV: case EACH_ALLTOALL: case EACH_ALLTOALLV:
		return count * (size_t)e->ranks;
	default:
		return count;
	}
}

/* Element @i of the output. */
static inline float each_wanted(const struct each *e, enum each_what what, size_t count, size_t i)
{
	size_t own = count * (size_t)e->rank;

	switch (what) {
	case EACH_BROADCAST:
		return each_value(0, i);
	case EACH_REDUCE: case EACH_ALLREDUCE:
		return each_sum(e->ranks, i);
	case EACH_REDUCE_SCATTER: case EACH_REDUCE_SCATTER_BLOCK:
		return each_sum(e->ranks, own + i);
	case EACH_SCAN:
		return each_sum(e->rank + 1, i);
	case EACH_EXSCAN:
		return each_sum(e->rank, i);
	case EACH_SCATTER: case EACH_SCATTERV:
		return each_value(0, own + i);
	case EACH_ALLTOALL: case EACH_ALLTOALLV:
		return each_value((int)(i / count), own + i % count);
	default:
		return each_value((int)(i / count), i % count);
	}
}

/* One op more: is the result right on all ranks? */
static inline void each_check(const struct each *e, enum each_what what, size_t bytes,
			      float *in, float *out)
{
	size_t count = each_begin(e, what, bytes), length = each_length(e, what, count), i;
	double wrong = 0;

	/* The root of a broadcast has its input there. */
	for (i = 0; i < length; i++)
		out[i] = what == EACH_BROADCAST && !e->rank ? each_value(0, i) : -1;
	e->run(what, in, out, count);
	for (i = 0; i < length; i++)
		wrong += out[i] != each_wanted(e, what, count, i);
	e->collect(&wrong, 1, 0);
	if (wrong == 0)
		return;
	fprintf(stderr, "rank %d: %s, %zu bytes: %.0f elements are wrong\n", e->rank,
		each_names[what], bytes, wrong);
	exit(3);
}

static inline int each_is_wanted(enum each_what what)
{
	const char *some = getenv("BENCH_COLLECTIVES"), *at = some;
	size_t len = strlen(each_names[what]);

	if (!some || !*some)
		return 1;
	while ((at = strstr(at, each_names[what]))) {
		if ((at == some || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return 1;
		at += len;
	}
	return 0;
}

static inline void each_run(const struct each *e, int n, char **plan)
{
	struct bench_size most = bench_largest(n, plan), z;
	/* A block of each rank has one float at least. */
	size_t bytes = most.bytes + EACH_RANKS * sizeof(float);
	float *in = bench_buffer(bytes), *out = bench_buffer(bytes);
	double *times = (double *)bench_alloc((size_t)most.iters, sizeof(*times));
	const volatile uint64_t *calls = each_calls();
	size_t k;
	int what, i;

	for (k = 0; k < bytes / sizeof(float); k++)
		in[k] = each_value(e->rank, k);
	bench_now_us();
	for (what = 0; what < EACH_NR; what++) {
		for (i = 0; each_is_wanted((enum each_what)what) && i < n; i++) {
			if (what == EACH_BARRIER && i)
				break;
			bench_parse(plan[i], &z);
			if (each_marks()) {
				if (z.bytes <= 4096)
					each_mark_batch(e, (enum each_what)what, &z, in, out);
				continue;
			}
			if (!calls) {
				each_time(e, (enum each_what)what, &z, in, out, times);
				each_check(e, (enum each_what)what, z.bytes, in, out);
			}
			if (z.bytes <= 4096)
				each_batch(e, (enum each_what)what, &z, in, out, calls);
		}
	}
	free(times);
}

#endif /* EACH_H */
