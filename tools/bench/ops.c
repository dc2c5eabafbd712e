// SPDX-License-Identifier: GPL-2.0
/*
 * usage: ops: speed of every reduction that this CPU can run, by the objects that coll.ko and
 * the library ship; two inputs, one output. Output, with tabs:
 *
 *	SIZES, CACHES	bytes: of a vector, of the caches
 *	REF	level name GB/s			loops that compute next to nothing
 *	SET	name				the sets of this CPU, the best one, which
 *						is chosen, first
 *	ROW	set by op type level GB/s ratio	by: who computes it where set is chosen;
 *						ratio: to the best of the loops of the
 *						set's width, measured in turns with it
 *	SECTION	set op type median p99 bytes	us: one FPU section, operands cold
 *	EXACT	type values inputs level ratio	time of sum_exact to that of sum
 */
#include <stdlib.h>

#include "bench.h"
#include "collperf_data.h"
#include "reduction/exact.h"
#include "ops.h"
#include "core/limits.h"
#include "reduce/reduce.h"

#define SECTIONS	200
#define MAX_REFS	8

static const char *const level_names[NR_LEVELS] = { "l1", "l2", "memory" };
static struct arena arena;
/* By number of references that may compete and level: the fastest. */
static struct work best_ref[MAX_REFS][NR_LEVELS];

static double speed(const struct work *w, enum level level, double us)
{
	return (double)work_traffic(&arena, w, level) / us / 1e3;
}

static void measure_references(void)
{
	const struct reference *list;
	int nr = references(&list), level, i, k;

	arena_fill(&arena, COLL_U64);
	for (level = 0; level < NR_LEVELS; level++) {
		double us[MAX_REFS][ROUNDS], least = 0;

		for (k = 0; k < ROUNDS; k++) {
			for (i = 0; i < nr; i++) {
				struct work w = { list[i].fn, NULL, 1, 2 };

				us[i][k] = work_time(&arena, &w, (enum level)level);
			}
		}
		for (i = 0; i < nr; i++) {
			struct work w = { list[i].fn, NULL, 1, 2 };
			double m = bench_median(us[i], ROUNDS);

			best_ref[i + 1][level] = i && least < m ? best_ref[i][level] : w;
			least = i && least < m ? least : m;
			printf("REF\t%s\t%s\t%.3f\n", level_names[level], list[i].name,
			       speed(&w, (enum level)level, m));
		}
	}
}

/* Time of @ref to that of @w: medians of turns. Also the time of @w. */
static double ratio(const struct work *w, const struct work *ref, enum level level, double *us)
{
	double own[ROUNDS], ratios[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		double r = work_time(&arena, ref, level) / (double)work_traffic(&arena, ref, level);

		own[i] = work_time(&arena, w, level);
		ratios[i] = r / (own[i] / (double)work_traffic(&arena, w, level));
	}
	*us = bench_median(own, ROUNDS);
	return bench_median(ratios, ROUNDS);
}

/* As kmod/core/mem/reduce.c has it. */
static size_t section_bytes(const char *by)
{
	return strcmp(by, coll_simd_scalar.name) ? COLL_FPU_BYTES : COLL_FPU_BYTES_SLOW;
}

static void measure_pair(const char *set, const char *by, coll_reduce_fn *fn, u32 op, u32 dtype)
{
	struct value two = { { 2, 1 } };
	u64 scale[2] = { 0, 0 };
	struct coll_reduce_arg arg = { .divisor = 3, .scale = scale };
	struct work w = { fn, &arg, coll_dtype_size(dtype), 2 };
	double us, r, sections[SECTIONS];
	size_t section;
	int level;

	if (op == COLL_OP_PREMULSUM) {
		elem_put((enum coll_dtype)dtype, &two, 0, &scale[0]);
		scale[1] = scale[0];
	}
	for (level = 0; level < NR_LEVELS; level++) {
		r = ratio(&w, &best_ref[references_of(set)][level], (enum level)level, &us);
		printf("ROW\t%s\t%s\t%s\t%s\t%s\t%.4f\t%.4f\n", set, by, coll_op_name(op),
		       coll_dtype_name(dtype), level_names[level],
		       speed(&w, (enum level)level, us), r);
	}
	if (op == COLL_OP_SUM_EXACT)	/* needs no FPU */
		return;
	section = section_bytes(by);
	work_cold(&arena, &w, section, sections, SECTIONS);
	printf("SECTION\t%s\t%s\t%s\t%.2f\t%.2f\t%zu\n", set, coll_op_name(op),
	       coll_dtype_name(dtype), sections[SECTIONS / 2], sections[SECTIONS * 99 / 100],
	       section);
	fflush(stdout);
}

/* sum_exact beside the sum of the best set, for more and more inputs. */
static void measure_exact(u32 dtype, const char *values)
{
	coll_reduce_fn *exact = dtype == COLL_F32 ? coll_exact_sum_f32 : coll_exact_sum_f64;
	struct work sum = { coll_simd_usable(0)->fn[dtype][COLL_OP_SUM], NULL,
			    coll_dtype_size(dtype), 2 };
	struct work w = sum;
	unsigned int n;
	int level;
	double us;

	if (!sum.fn)
		sum.fn = coll_simd_scalar.fn[dtype][COLL_OP_SUM];
	w.fn = exact;
	for (level = LEVEL_L2; level < NR_LEVELS; level++) {
		for (n = 2; n <= 32; n *= 2) {
			w.nr_in = n;
			sum.nr_in = n;
			printf("EXACT\t%s\t%s\t%u\t%s\t%.2f\n", coll_dtype_name(dtype),
			       values, n, level_names[level],
			       1 / ratio(&w, &sum, (enum level)level, &us));
		}
	}
}

static void measure_sum_exact(u32 dtype)
{
	const char *best = coll_simd_usable(0)->name;

	measure_pair(best, "exact", dtype == COLL_F32 ? coll_exact_sum_f32 : coll_exact_sum_f64,
		     COLL_OP_SUM_EXACT, dtype);
	measure_exact(dtype, "alike");
	arena_spread(&arena, dtype);
	measure_exact(dtype, "spread");
}

static void measure_dtype(u32 dtype)
{
	const struct coll_simd *set;
	u32 op, i;

	arena_fill(&arena, dtype);
	for (op = 1; op < COLL_OP_SUM_EXACT; op++) {
		if (!coll_op_defined(op, dtype))
			continue;
		for (i = 0; (set = coll_simd_usable(i)); i++) {
			if (set->fn[dtype][op])
				measure_pair(set->name, set->name, set->fn[dtype][op], op, dtype);
			else if (!i)
				measure_pair(set->name, "scalar", coll_simd_scalar.fn[dtype][op],
					     op, dtype);
		}
	}
	if (coll_op_defined(COLL_OP_SUM_EXACT, dtype))
		measure_sum_exact(dtype);
}

int main(void)
{
	u32 dtype, op, i;

	arena_init(&arena);
	for (i = 0; coll_simd_usable(i); i++)
		printf("SET\t%s\n", coll_simd_usable(i)->name);
	measure_references();
	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++) {
		for (op = 1; op < COLL_NR_OPS && !coll_op_defined(op, dtype); op++)
			;
		if (op < COLL_NR_OPS)
			measure_dtype(dtype);
	}
	return 0;
}
