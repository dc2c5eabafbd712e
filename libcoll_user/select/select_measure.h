/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Timing of transfers and algorithms. */
#ifndef LIBCOLL_SELECT_MEASURE_H
#define LIBCOLL_SELECT_MEASURE_H

#include "base/deadline.h"
#include "select_time.h"

/**
 * struct select_bench - measuring under way
 * @deadline: of every command; after the first of them, the earliest of all ranks
 * @buf: two vectors of @room bytes
 */
struct select_bench {
	coll_comm_t *comm;
	struct deadline deadline;
	struct select_model model;
	double barrier;
	uint8_t *buf;
	uint64_t room;
};

/* Run one command with a named algorithm, so that tables have no effect. */
int select_run(coll_comm_t *comm, struct deadline deadline, enum coll_collective what,
	       enum coll_algorithm_id alg, void *in, void *out, uint64_t bytes);

/* Rank 0: measure the costs of transfers. The others: run the steps of rank 0 to the end. */
int select_calibrate(struct select_bench *b);
int select_follow(struct select_bench *b);
/* Rank 0: there are no more steps: select_follow() of the others returns. */
int select_end(struct select_bench *b);

/**
 * select_measure() - rank 0: time algorithms of one collective at size @k
 * @who: indices in @t, @nr of them
 * @left: seconds that are left
 *
 * The algorithms run in turn. One that is clearly slower than the best drops out. The others go
 * on until one is left, the time is up, or the times are known well enough. Return: 0; 1 if there
 * is no memory, or no time for one round; or -errno.
 */
int select_measure(struct select_bench *b, struct select_time *t, const uint32_t *who,
		   uint32_t nr, uint32_t k, double left);

#endif
