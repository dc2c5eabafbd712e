/* SPDX-License-Identifier: GPL-2.0 */
/* collperf: times collectives and checks their results. */
#ifndef COLLPERF_H
#define COLLPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

/**
 * struct perf_options - the command line
 * @min: bytes of the first vector
 * @max: bytes of the last at most
 * @factor: from one size to the next
 * @elem: bytes of an element
 * @ioctl: blocking calls; else nonblocking and wait
 */
struct perf_options {
	enum coll_collective what;
	enum coll_dtype dtype;
	enum coll_op_code op;
	uint64_t min, max;
	double factor;
	size_t elem;
	uint32_t root;
	int iters, warmup;
	bool check, ioctl, inplace, registered;
};

/* What one vector holds: everything that its values depend on. */
struct perf_data {
	enum coll_collective what;
	enum coll_dtype dtype;
	enum coll_op_code op;
	uint32_t rank, size, root;
	uint32_t iter;
};

/* Can data_fill() and data_check() do this type? */
bool data_supported(enum coll_dtype dtype);
/* This rank's input of @count elements. */
void data_fill(const struct perf_data *d, void *buf, uint64_t count);
/* How many elements of a result are not exactly what they should be. */
uint64_t data_check(const struct perf_data *d, const void *buf, uint64_t count);

/* Every size in turn; 0, 1 if there were wrong elements, 2 on errors. */
int perf_run(coll_comm_t *comm, const struct perf_options *opt);

#endif
