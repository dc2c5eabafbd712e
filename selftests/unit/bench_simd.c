// SPDX-License-Identifier: GPL-2.0
/*
 * Speed of the reductions. GB/s count what is read plus what is written. The line
 * "copy" is our own loop of one input and one output, "memcpy" the C library's.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "pure/optable.h"
#include "simd/simd.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_VECTORS	8
#define MAX_BYTES	((size_t)64 << 20)

static const size_t sizes[] = { 8 << 10, 128 << 10, 1 << 20, MAX_BYTES };
static const u32 shapes[][2] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 4, 4 }, { 8, 8 } };
static void *vin[MAX_VECTORS], *vout[MAX_VECTORS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Best of five runs of about 256 MB each. */
static double speed(coll_reduce_fn *fn, u32 nr_out, u32 nr_in, size_t bytes, u32 size)
{
	size_t moved = bytes * (nr_in + nr_out), rounds = ((size_t)256 << 20) / moved + 1, i;
	double best = 1e9, t;
	u32 run;

	for (run = 0; run < 5; run++) {
		t = now();
		for (i = 0; i < rounds; i++) {
			if (fn)
				fn(vout, nr_out, (const void *const *)vin, nr_in, bytes / size);
			else
				memcpy(vout[0], vin[0], bytes);
			__asm__ volatile("" : : "r"(vout[0]) : "memory");
		}
		t = (now() - t) / rounds;
		best = t < best ? t : best;
	}
	return moved / best * 1e-9;
}

static void bench(const struct coll_simd *s, u32 dtype, u32 op)
{
	u32 i, z;

	for (i = 0; i < COUNT(shapes); i++) {
		printf("%-6s %s %-4s %u->%u ", s->name, coll_dtype_name(dtype),
		       shapes[i][0] == 1 ? "copy" : coll_op_name(op),
		       shapes[i][0], shapes[i][1]);
		for (z = 0; z < COUNT(sizes); z++)
			printf(" %7.1f", speed(s->fn[dtype][op], shapes[i][1], shapes[i][0],
					       sizes[z], coll_dtype_size(dtype)));
		putchar('\n');
	}
}

int main(void)
{
	u32 i, z;

	for (i = 0; i < MAX_VECTORS; i++) {
		vin[i] = mmap(NULL, MAX_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		vout[i] = mmap(NULL, MAX_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (vin[i] == MAP_FAILED || vout[i] == MAP_FAILED)
			return 1;
		memset(vin[i], 1, MAX_BYTES);
		memset(vout[i], 1, MAX_BYTES);
	}
	printf("GB/s with vectors of       8K    128K      1M     64M\n");
	printf("memcpy               ");
	for (z = 0; z < COUNT(sizes); z++)
		printf(" %7.1f", speed(NULL, 1, 1, sizes[z], 4));
	putchar('\n');
	bench(&coll_simd_scalar, COLL_F32, COLL_OP_SUM);
#if defined(__x86_64__)
	bench(&coll_simd_sse2, COLL_F32, COLL_OP_SUM);
	if (__builtin_cpu_supports("avx2")) {
		bench(&coll_simd_avx2, COLL_F32, COLL_OP_SUM);
		bench(&coll_simd_avx2, COLL_F64, COLL_OP_MAX);
		bench(&coll_simd_avx2, COLL_I64, COLL_OP_PROD);
	}
#endif
	return 0;
}
