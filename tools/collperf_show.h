/* SPDX-License-Identifier: GPL-2.0 */
/* What is printed. */
#ifndef COLLPERF_SHOW_H
#define COLLPERF_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "collperf.h"

/* How ops get done: shared memory, or a way into the kernel */
enum perf_path { PATH_NONE, PATH_SHM, PATH_IOCTL, PATH_URING, PATH_POST, PATH_MIXED };

const char *path_name(enum perf_path path);
/* Ops that this rank has done in shared memory so far. */
uint64_t path_shm_ops(const coll_comm_t *comm);
/* Bytes that go through shared memory at most, in this collective; 0: there is none. */
uint64_t path_shm_limit(const coll_comm_t *comm, enum coll_collective what);
/* How the kernel gets what does not go through shared memory. */
enum perf_path path_kernel(const coll_comm_t *comm, bool blocking);
/* The path of @ops ops, of which @shm went through shared memory. */
enum perf_path path_of(const coll_comm_t *comm, bool blocking, uint64_t ops, uint64_t shm);

/**
 * struct perf_figures - one size, in one place
 * @measured: there are figures
 * @path: really taken
 * @us: medians over the iterations
 * @wrong: elements of all ranks
 */
struct perf_figures {
	bool measured;
	enum perf_path path;
	double us[NR_TIMES];
	uint64_t wrong;
};

/**
 * struct perf_row - one size
 * @cycle: from 0
 * @bytes: of the vector, or of all blocks
 * @count: elements of it
 */
struct perf_row {
	int cycle;
	uint64_t bytes, count;
	enum coll_dtype dtype;
	enum coll_op_code op;
	struct perf_figures at[NR_PLACES];
};

/**
 * struct show - what is printed, by rank 0 alone
 * @simd: instructions of reductions
 * @json: where JSON goes; NULL: nowhere
 * @rows: so far
 * @bus: sum of all bus bandwidths
 * @figures: how many these are
 * @wrong: elements in all
 * @least: by path: bytes of the smallest row
 * @most: of the largest row; 0 with @seen 0
 * @seen: by path: rows
 */
struct show {
	const coll_comm_t *comm;
	const struct perf_options *opt;
	char simd[20];
	FILE *json;
	unsigned int rows;
	double bus;
	unsigned int figures;
	uint64_t wrong;
	uint64_t least[PATH_MIXED + 1], most[PATH_MIXED + 1];
	unsigned int seen[PATH_MIXED + 1];
};

/* False: the file cannot be written; that has been said. */
bool show_begin(struct show *s, coll_comm_t *comm, const struct perf_options *opt);
void show_row(struct show *s, const struct perf_row *row);
/* False: what was written did not all get to the file. */
bool show_end(struct show *s);
/* Factor from the bandwidth of the algorithm to that of the links. */
double show_factor(const struct show *s);
/* For show_row() and show_end(): a row of the table; a row and the end of JSON. */
void show_table(const struct show *s, const struct perf_row *row);
void show_json(const struct show *s, const struct perf_row *row);
void show_json_end(const struct show *s);

#endif
