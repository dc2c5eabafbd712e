/* SPDX-License-Identifier: GPL-2.0 */
/* Where the vectors of each collective lie. */
#ifndef COLLPERF_SHAPE_H
#define COLLPERF_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

/* Where the input lies */
enum perf_place { OUT_OF_PLACE, IN_PLACE, NR_PLACES };

/**
 * struct shape - where a rank's input and output lie, all in elements
 * @count: what the command says: of the vector, or of one block
 * @total: of the vector, or of all blocks: the size that is shown
 * @in: length of the input
 * @in_at: where it begins
 * @in_recv: it is in the output's buffer
 * @out: length of the output
 * @out_at: where it begins
 * @out_send: it is in the input's buffer
 */
struct shape {
	uint64_t count, total;
	uint64_t in, in_at;
	uint64_t out, out_at;
	bool in_recv, out_send;
};

/**
 * struct shape_rank - a rank of a collective
 * @size: ranks
 */
struct shape_rank {
	enum coll_collective what;
	uint32_t rank, size, root;
};

/* The shape for vectors of @total elements; at least one, if there is one, for each block. */
void shape_of(struct shape *s, const struct shape_rank *r, uint64_t total, enum perf_place place);
/* Can it be had? A broadcast has one buffer, and a barrier none. */
bool shape_has(enum coll_collective what, enum perf_place place);
bool shape_is_rooted(enum coll_collective what);
/* Factor from the bandwidth of the algorithm to that of the links. */
double shape_bus_factor(enum coll_collective what, uint32_t size);

#endif
