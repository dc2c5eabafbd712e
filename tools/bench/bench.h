/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the measuring programs, so that all measure as collperf does: a barrier before each
 * iteration, of each iteration the time of the slowest rank, of these the median. Buffers are
 * mapped and touched once, before anything is timed, and nothing is written between iterations.
 *
 * A plan is "BYTES:ITERATIONS:WARMUP ...", one argument per size. Results are
 * lines "ROW ranks bytes microseconds", with tabs.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../clock.h"

struct bench_size {
	size_t bytes;
	int iters, warmup;
};

static inline double bench_now_us(void)
{
	return clock_now_us();
}

static inline int bench_parse(const char *s, struct bench_size *z)
{
	return sscanf(s, "%zu:%d:%d", &z->bytes, &z->iters, &z->warmup) == 3 &&
	       z->bytes % sizeof(float) == 0 && z->iters > 0 && z->warmup >= 0 ? 0 : -1;
}

/* The largest size and the most iterations of a plan; ends the program if it is bad. */
static inline struct bench_size bench_largest(int n, char **plan)
{
	struct bench_size most = { 0, 0, 0 }, z;
	int i;

	for (i = 0; i < n; i++) {
		if (bench_parse(plan[i], &z)) {
			fprintf(stderr, "bad size \"%s\"\n", plan[i]);
			exit(2);
		}
		most.bytes = z.bytes > most.bytes ? z.bytes : most.bytes;
		most.iters = z.iters > most.iters ? z.iters : most.iters;
	}
	return most;
}

/* @flag: MAP_PRIVATE or MAP_SHARED */
static inline void *bench_map(size_t bytes, int flag)
{
	void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		       flag | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

static inline float *bench_buffer(size_t bytes)
{
	return (float *)bench_map(bytes, MAP_PRIVATE);
}

static inline void *bench_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		perror("calloc");
		exit(2);
	}
	return p;
}

/* Small whole numbers: any order of summation gives the same. */
static inline float bench_input(int rank, size_t i)
{
	return (float)((i * 7 + 3) % 16 + (size_t)rank);
}

static inline void bench_fill(float *buf, size_t count, int rank)
{
	size_t i;

	for (i = 0; i < count; i++)
		buf[i] = bench_input(rank, i);
}

static inline size_t bench_wrong(const float *buf, size_t count, int ranks)
{
	size_t i, wrong = 0;

	for (i = 0; i < count; i++)
		wrong += buf[i] != (float)ranks * bench_input(0, i) +
				   (float)(ranks * (ranks - 1) / 2);
	return wrong;
}

static inline int bench_cmp(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static inline double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), bench_cmp);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static inline void bench_row(const char *kind, int ranks, size_t bytes, double us)
{
	printf("%s\t%d\t%zu\t%.3f\n", kind, ranks, bytes, us);
	fflush(stdout);
}

#endif /* BENCH_H */
