/* SPDX-License-Identifier: GPL-2.0 */
/* collperf: times collectives and checks their results. */
#ifndef COLLPERF_H
#define COLLPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <coll/coll.h>

#include "collperf_shape.h"

/* Which time of an iteration is shown, as nccl-tests number them */
enum perf_time { TIME_RANK0, TIME_MEAN, TIME_MIN, TIME_MAX, NR_TIMES };

/**
 * struct perf_options - the command line
 * @dtypes: bit n: enum coll_dtype n is asked for
 * @ops: bit n: enum coll_op_code n; every pair that is defined gets its turn
 * @min: bytes of the first vector
 * @max: bytes of the last at most
 * @factor: from one size to the next
 * @step: bytes from one size to the next; 0: @factor
 * @name: of an algorithm, as it was given
 * @algorithm: enum coll_algorithm_id; 0: what the communicator's tables say
 * @segment: bytes of the pipelining unit; 0: what the communicator's tables say
 * @aggregate: ops of one iteration
 * @cycles: how often all sizes get their turn; 0: without end
 * @timeout_s: seconds that an op may take; 0: no bound
 * @shown: the time that bandwidths are made of
 * @places: bit n: enum perf_place n is asked for
 * @ioctl: blocking calls; else nonblocking and wait
 * @persistent: start and wait; not with @ioctl
 * @minmax: show the times of all ranks, too
 * @no_message: an option that was given, and that sendrecv does not have; NULL: none
 * @json: file for JSON; "-": print that, and no table; NULL: none
 */
struct perf_options {
	enum coll_collective what;
	uint64_t dtypes, ops;
	uint64_t min, max;
	double factor;
	uint64_t step;
	uint32_t root;
	const char *name;
	uint16_t algorithm;
	uint64_t segment;
	int iters, warmup, aggregate, cycles, timeout_s;
	enum perf_time shown;
	unsigned int places;
	bool check, ioctl, persistent, registered, narrow, minmax;
	const char *no_message;
	const char *json;
};

/* The command line; false: it is wrong, and what is wrong has been said. */
bool perf_parse(struct perf_options *o, int argc, char **argv);
void perf_usage(FILE *f);
bool perf_reduces(enum coll_collective what);
/* Is this pair of type and operator asked for, and can it be had? */
bool perf_wanted(const struct perf_options *o, uint32_t dtype, uint32_t op);
/* How many pairs of type and operator that is; a barrier has none. */
unsigned int perf_pairs(const struct perf_options *opt);
/* The size after @bytes. */
uint64_t perf_next(const struct perf_options *o, uint64_t bytes);

/* Numbers by names, ours and those of nccl-tests. 0: there is none. */
uint32_t name_dtype(const char *s);
uint32_t name_op(const char *s);
uint32_t name_collective(const char *s);

/* The clock, whose first use takes 20 ms. */
const char *perf_clock_name(void);
/* Microseconds of a clock that only goes forward. */
double perf_now_us(void);
/* Median of @n numbers, which get sorted. */
double perf_median(double *v, int n);

/* Every pair and size in turn; 0, 1 if there were wrong elements, 2 on errors. */
int perf_run(coll_comm_t *comm, const struct perf_options *opt);
/* Messages instead: there and back between rank 0 and the last one; the same otherwise. */
int perf_pair(coll_comm_t *comm, const struct perf_options *opt);

#endif
