/* SPDX-License-Identifier: GPL-2.0 */
/* make bench-ops: what its files share. */
#ifndef BENCH_OPS_H
#define BENCH_OPS_H

#include <stddef.h>

#include "optable.h"
#include "simd/simd.h"

/* Rounds of one figure, and what one of them takes at least. */
#define ROUNDS		7
#define SAMPLE_US	3000.0

/*
 * Three loads of memory: vectors in the first cache, in the second, and pieces of
 * vectors that are larger than all caches, each piece touched after all others.
 */
enum level { LEVEL_L1, LEVEL_L2, LEVEL_MEMORY, NR_LEVELS };

/**
 * struct arena - one mapping that all vectors lie in
 * @bytes: of the whole
 * @vector: bytes of a vector of three, by level
 */
struct arena {
	char *base;
	size_t bytes;
	size_t vector[NR_LEVELS];
};

/* Map and measure it by the caches of this machine; ends the program on errors. */
void arena_init(struct arena *a);
/* Small whole numbers of the type, everywhere. */
void arena_fill(struct arena *a, u32 dtype);
/* f32 and f64 of all sizes and signs. */
void arena_spread(struct arena *a, u32 dtype);

/**
 * struct work - something that is called again and again
 * @fn: what
 * @arg: for it
 * @elem: bytes of an element
 * @nr_in: vectors read; one is written
 */
struct work {
	coll_reduce_fn *fn;
	const struct coll_reduce_arg *arg;
	size_t elem;
	unsigned int nr_in;
};

/* Mean time of a call of @w, in us: enough of them for SAMPLE_US. */
double work_time(struct arena *a, const struct work *w, enum level level);
/* Bytes that such a call reads and writes. */
size_t work_traffic(const struct arena *a, const struct work *w, enum level level);
/* Times of @n calls that move @traffic bytes each, all cold; in us, by length. */
void work_cold(struct arena *a, const struct work *w, size_t traffic, double *us, int n);

/* A loop written by hand: two loads, an exclusive or, a store. */
struct reference {
	const char *name;
	coll_reduce_fn *fn;
};

/* All that this CPU can run, the narrowest first; returns how many. */
int references(const struct reference **list);
/* How many of them may compete with an instruction set. */
int references_of(const char *simd);

#endif
