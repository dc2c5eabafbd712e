// SPDX-License-Identifier: GPL-2.0
/* Memory to reduce, and the time that takes. */
#define _GNU_SOURCE
#include <stdint.h>
#include <unistd.h>

#include "bench.h"
#include "collperf_data.h"
#include "ops.h"

#define PAGE		((size_t)4096)
#define MIB		((size_t)1 << 20)
#define LEAST_VECTOR	(64 * MIB)
/* One call on memory covers this much of each vector. */
#define PIECE		(256 * (size_t)1024)
#define MAX_IN		64

/* Time of this thread on a CPU: waiting for others to leave one does not count. */
static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* The time that two looks at the clock take by themselves. */
static double clock_cost(void)
{
	static double cost;
	double us[101];
	int i;

	for (i = 0; cost == 0 && i < 101; i++) {
		us[i] = cpu_us();
		us[i] = cpu_us() - us[i];
	}
	if (cost == 0)
		cost = bench_median(us, 101);
	return cost;
}

/* A number of the machine: what sysconf() says, which may be nothing. */
static size_t cache_bytes(int name, size_t otherwise)
{
	long v = sysconf(name);

	return v > 0 ? (size_t)v : otherwise;
}

void arena_init(struct arena *a)
{
	size_t l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 * 1024);
	size_t l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, MIB);
	size_t l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 32 * MIB);
	size_t available = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	size_t most = available / 2 / 3 / MIB * MIB, want = l3 + l3 / 2;

	/* Three vectors take half of the first cache, three eighths of the second. */
	a->vector[LEVEL_L1] = l1 / 6 / PAGE * PAGE;
	a->vector[LEVEL_L2] = l2 / 8 / PAGE * PAGE;
	want = want > LEAST_VECTOR ? want : LEAST_VECTOR;
	a->vector[LEVEL_MEMORY] = (want < most ? want : most) / PIECE * PIECE;
	a->bytes = 3 * a->vector[LEVEL_MEMORY];
	a->base = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->base == MAP_FAILED || a->vector[LEVEL_MEMORY] < 2 * PIECE) {
		perror("ops: memory");
		exit(2);
	}
	/* The kernel reduces pages that it maps in large pieces, too. */
	madvise(a->base, a->bytes, MADV_HUGEPAGE);
	printf("SIZES\t%zu\t%zu\t%zu\n", a->vector[0], a->vector[1], a->vector[2]);
	printf("CACHES\t%zu\t%zu\t%zu\n", l1, l2, l3);
}

/* The same block of elements again and again; their number is odd, so it does not align. */
enum { ELEMENTS = 4096 + 1 };

static void repeat(struct arena *a, const uint8_t *block, size_t bytes)
{
	size_t i, n;

	for (i = 0; i < a->bytes; i += n) {
		n = a->bytes - i < bytes ? a->bytes - i : bytes;
		memcpy(a->base + i, block, n);
	}
}

static uint64_t scatter(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Nothing that is slow for its value: no denormals, no NaN, nothing that grows large. */
void arena_fill(struct arena *a, u32 dtype)
{
	static uint8_t block[ELEMENTS * 32];
	size_t size = coll_dtype_size(dtype), i;
	bool is_signed = elem_type((enum coll_dtype)dtype)->part[0]->is_signed;

	for (i = 0; i < ELEMENTS; i++) {
		uint64_t h = scatter(i);
		struct value v = { { (int64_t)(h >> 60) - 8 * is_signed, (int64_t)(h >> 50 & 7) + 1 } };

		elem_put((enum coll_dtype)dtype, &v, 0, block + i * size);
	}
	repeat(a, block, ELEMENTS * size);
}

void arena_spread(struct arena *a, u32 dtype)
{
	static uint64_t wide[ELEMENTS];
	static uint32_t narrow[ELEMENTS];
	size_t i;

	for (i = 0; i < ELEMENTS; i++) {
		uint64_t h = scatter(i);
		uint64_t sign = h >> 63, fraction = h << 13 >> 12;

		/* Exponents from 1 to where 32 of them still have a finite sum. */
		wide[i] = sign << 63 | (1 + (h >> 40) % 2030) << 52 | fraction >> 1;
		narrow[i] = (uint32_t)(sign << 31 | (1 + (h >> 40) % 240) << 23 | fraction >> 30);
	}
	if (dtype == COLL_F64)
		repeat(a, (const uint8_t *)wide, sizeof(wide));
	else
		repeat(a, (const uint8_t *)narrow, sizeof(narrow));
}

/* Where the piece of memory begins that was touched longest ago. */
static size_t next_piece(size_t vector, size_t piece)
{
	static size_t cursor;
	size_t at = cursor + piece <= vector ? cursor : 0;

	cursor = at + piece;
	return at;
}

static void call(struct arena *a, const struct work *w, size_t vector, size_t at, size_t bytes)
{
	const void *in[MAX_IN];
	unsigned int i;
	void *out;

	for (i = 0; i < w->nr_in; i++)
		in[i] = a->base + i * vector + at;
	out = a->base + w->nr_in * vector + at;
	w->fn(&out, 1, in, w->nr_in, bytes / w->elem, w->arg);
}

/* Bytes of a vector, and of what one call does of it. */
static size_t sizes_of(const struct arena *a, const struct work *w, enum level level,
		       size_t *vector)
{
	size_t all = 3 * a->vector[level];

	*vector = all / (w->nr_in + 1) / PAGE * PAGE;
	return level == LEVEL_MEMORY && *vector > PIECE ? PIECE : *vector;
}

static void calls(struct arena *a, const struct work *w, enum level level, size_t n)
{
	size_t vector, piece = sizes_of(a, w, level, &vector);

	while (n--)
		call(a, w, vector, level == LEVEL_MEMORY ? next_piece(vector, piece) : 0, piece);
}

double work_time(struct arena *a, const struct work *w, enum level level)
{
	double begin, us;
	size_t n;

	/* The first one warms up, the second says how many will be needed. */
	calls(a, w, level, 1);
	begin = cpu_us();
	calls(a, w, level, 1);
	us = cpu_us() - begin;
	n = us < SAMPLE_US ? (size_t)(SAMPLE_US / (us > 0.1 ? us : 0.1)) : 1;
	begin = cpu_us();
	calls(a, w, level, n);
	return (cpu_us() - begin) / (double)n;
}

size_t work_traffic(const struct arena *a, const struct work *w, enum level level)
{
	size_t vector;

	return sizes_of(a, w, level, &vector) * (w->nr_in + 1);
}

void work_cold(struct arena *a, const struct work *w, size_t traffic, double *us, int n)
{
	size_t vector = a->bytes / (w->nr_in + 1) / PAGE * PAGE;
	size_t bytes = traffic / (w->nr_in + 1) / w->elem * w->elem;
	size_t places = vector / PIECE, i;
	double cost = clock_cost();
	static size_t nth;

	/* Code and predictors are warm, as they are from the second section on. */
	call(a, w, vector, 0, bytes);
	for (i = 0; i < (size_t)n; i++) {
		/* Far from the place of the call before: nothing is prefetched. */
		size_t at = nth++ * 97 % places * PIECE;
		double begin = cpu_us();

		call(a, w, vector, at, bytes);
		us[i] = cpu_us() - begin - cost;
	}
	qsort(us, (size_t)n, sizeof(*us), bench_cmp);
}
