/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Which algorithm a call takes that does not name one: tables, filled by measuring. */
#ifndef LIBCOLL_SELECT_H
#define LIBCOLL_SELECT_H

#include <coll/coll.h>

#include "deadline.h"
#include "select_model.h"

/* Few enough for all tables to be one small broadcast. */
#define SELECT_MAX_ROWS	24
/* Sizes looked at: 4 bytes times 16 to the k. */
#define SELECT_SIZES	7
#define SELECT_BYTES(k)	(4ULL << 4 * (k))

struct select_table {
	uint32_t nr;
	uint32_t reserved;
	struct coll_select_row rows[SELECT_MAX_ROWS];
};

/* By collective. */
struct select_tables {
	struct select_table of[COLL_NR_COLLECTIVES];
};

/**
 * struct select_plan - what rank 0's environment asks for
 * @budget_ms: to be spent on measuring algorithms, beyond finding out what a transfer
 *	costs; negative: measure nothing at all
 * @fixed: algorithm by collective; 0: free
 */
struct select_plan {
	int32_t budget_ms;
	uint16_t fixed[COLL_NR_COLLECTIVES];
};

/**
 * select_offer() - before the last round of coll_init()
 * @plan: filled in from the environment on rank 0, whose word it is
 * @blob: what to tell the others; has room for some bytes
 *
 * Return: 0, or -EINVAL for a name that there is not.
 */
int select_offer(const coll_comm_t *comm, struct select_plan *plan, uint8_t *blob);

/**
 * select_accept() - after it: measure and set tables
 * @blobs: of all ranks, @stride bytes each
 * @deadline: of every command
 */
int select_accept(coll_comm_t *comm, const struct select_plan *plan, const uint8_t *blobs,
		  size_t stride, struct deadline deadline);

/* select_measure.c: */

/**
 * struct select_time - what is known of one algorithm
 * @alg: it
 * @model: seconds at each size by the model
 * @measured: by measurement; 0: was not
 */
struct select_time {
	const struct coll_algorithm *alg;
	double model[SELECT_SIZES];
	double measured[SELECT_SIZES];
};

/* Seconds at size @k: measured, or the model corrected by what was measured. */
double select_estimate(const struct select_time *t, uint32_t k);

/**
 * struct select_bench - measuring under way
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

/* One command with an algorithm that is named: tables have no say. */
int select_run(coll_comm_t *comm, struct deadline deadline, enum coll_collective what,
	       enum coll_algorithm_id alg, void *in, void *out, uint64_t bytes);

/* Rank 0: find out what transfers cost. The others: do what rank 0 says until it ends. */
int select_calibrate(struct select_bench *b);
int select_follow(struct select_bench *b);
/* Rank 0: the others need not follow any more. */
int select_end(struct select_bench *b);

/**
 * select_measure() - rank 0: time algorithms at size @k
 * @t: of one collective, @nr of them
 * @left: seconds there are; it measures as often as that allows
 *
 * Return: 0; 1: it would take longer; or -errno.
 */
int select_measure(struct select_bench *b, struct select_time *t, uint32_t nr, uint32_t k,
		   double left);

#endif
