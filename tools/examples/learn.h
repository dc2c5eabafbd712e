/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the examples that learn from a table. */
#ifndef EXAMPLES_LEARN_H
#define EXAMPLES_LEARN_H

#include <math.h>
#include <stdint.h>

#include <coll/iterate.h>

/*
 * Sums that do not depend on the order of their terms, so not on the number of ranks.
 *
 * A term is split in two: a multiple of @hi, and of the rest a multiple of @lo. Both are powers
 * of two, so coarse that no partial sum of all terms needs more than the 53 bits of a double.
 * All additions are then exact, in any order. The loss is below 2^-90 of the largest possible
 * sum.
 */
struct learn_grid {
	double hi, lo;
};

/* For @terms terms of at most @max. */
struct learn_grid learn_grid(double terms, double max);

/* @sum: two doubles, 0 at the beginning. The value is their sum, see learn_value(). */
static inline void learn_add(double sum[2], double term, const struct learn_grid *g)
{
	double hi = nearbyint(term / g->hi) * g->hi;

	sum[0] += hi;
	sum[1] += nearbyint((term - hi) / g->lo) * g->lo;
}

static inline double learn_value(const double sum[2])
{
	return sum[0] + sum[1];
}

/**
 * struct learn - a table, of which each rank has a part
 * @rows: in all; of these, @local from @first on are ours
 * @dims: features, and a last one that is always 1
 * @z: @local x @dims, each feature with mean 0 and variance 1 over all rows
 * @y: of each of our rows the last column of the file
 * @bound: of each feature the largest absolute value; @y_bound: of @y
 */
struct learn {
	coll_comm_t *comm;
	uint64_t rows, first, local;
	uint32_t dims;
	double *z, *y, *bound;
	double y_bound;
};

/*
 * Collectives: read a table whose first line is a header. Return: 0, or a negative errno,
 * and rank 0 has said why.
 */
int learn_csv(const char *me, coll_comm_t *comm, const char *path, struct coll_csv *csv);
int learn_load(const char *me, coll_comm_t *comm, const char *path, struct learn *l);
void learn_free(struct learn *l);

/* coll_iter_exec(), and rank 0 says what went wrong. */
int learn_exec(const char *me, coll_iter_t *it);

/* coll_init() from the environment, or a message and NULL. */
coll_comm_t *learn_init(const char *me);

/*
 * An option's number, written in full: no sign for whole ones, no "nan". Return: is it wrong? Then
 * @out is as it was.
 */
int learn_u32(const char *text, uint32_t *out);
int learn_u64(const char *text, uint64_t *out);
int learn_real(const char *text, double *out);

/* Zeroed, or the end of the process: coll ends the other ranks then. */
void *learn_array(uint64_t n, uint64_t m, size_t size);

/* A number from 0 to 1 that depends on the arguments alone (splitmix64). */
double learn_random(uint64_t seed, uint64_t a, uint64_t b);

#endif
