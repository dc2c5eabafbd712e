/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of the reductions: sets, elements, arguments, counts. */
#ifndef COLL_UNIT_REDUCE_TEST_H
#define COLL_UNIT_REDUCE_TEST_H

#include "pure/optable.h"
#include "ref.h"
#include "simd/simd.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* Whether ASan watches: slower, and other tests have the volume. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED	1
#else
#define SANITIZED	0
#endif

/* sets.c: the sets that this CPU can run, the scalar one first */
#define MAX_SETS	8
extern const struct coll_simd *sets[MAX_SETS];
extern u32 nr_sets;

/* Finds them; prints a skipped result for each that is built but cannot run. */
void find_sets(void);

/* Has the set functions only where operators are defined? The scalar set must have all of them. */
bool set_complete(const struct coll_simd *s);

/* Do the kernels have this pair? They have all that are allowed, except for exact sums. */
bool have_kernel(u32 op, u32 dtype);

/* How much to do, in percent: COLL_UNIT_VOLUME, 100 unless set. At least 1 of @n. */
u32 volume(u32 n);

/* Counts of checks, over all sets; printed at the end. */
extern u64 nr_checked;
void print_checked(const char *what);

/* gen.c: elements */
extern u64 rnd;

/* Special values of a simple dtype: ends of ranges, and what is next to them. */
u32 nr_special(u32 kind);
void special(u32 kind, u32 i, u8 *p);

/* The kind of elements that follow; some folds become NaN too soon with any bits. */
struct gen {
	u32 specials;	/* of 16 values, how many are special */
	u32 spread;	/* floats: binades around 1; 0: any bits */
	u32 values;	/* pairs: number of different values, for ties; 0: any */
};

struct gen any_gen(void);
/* Random bits in padding. */
void make_element(const struct gen *g, u32 dtype, u8 *p);

/* An argument for @nr inputs of @dtype: factors, divisor. Fields that are not read are random. */
struct test_arg {
	struct coll_reduce_arg arg;
	u64 scale[COLL_SIMD_MAX];
};

void make_arg(const struct gen *g, struct test_arg *a, u32 op, u32 dtype, u32 nr);

/* A failure: what went in, what should have come out. */
void show_failure(const struct coll_simd *s, u32 op, u32 dtype, const u8 *const *elem,
		  u32 nr, const struct coll_reduce_arg *arg, const u8 *got, const u8 *want);

#endif /* COLL_UNIT_REDUCE_TEST_H */
