/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Which algorithm a call takes that does not name one: tables, and who fills them. */
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
/* Algorithms of one collective, and some of them with several segments. */
#define SELECT_MAX_ALGS	40
/* All blocks together, of collectives that have one for each rank. */
#define SELECT_MAX_BYTES SELECT_BYTES(SELECT_SIZES - 1)

/**
 * struct select_table - of one collective
 * @source: enum coll_select_source
 */
struct select_table {
	uint32_t nr;
	uint32_t source;
	struct coll_select_row rows[SELECT_MAX_ROWS];
};

/**
 * struct select_tables - of a communicator
 * @model: what transfers cost, for parts of it; all 0: not known
 * @of: by collective
 */
struct select_tables {
	struct select_model model;
	struct select_table of[COLL_NR_COLLECTIVES];
};

#define SELECT_HOST_LEN	16
#define SELECT_NAME_LEN	40

/**
 * struct select_host - what files know a node by
 * @id: digest of host name and COLL_NODE; not of the boot, which the tables outlive
 * @name: for those who read the file
 */
struct select_host {
	uint8_t id[SELECT_HOST_LEN];
	char name[SELECT_NAME_LEN];
};

/**
 * struct select_plan - what rank 0's environment asks for
 * @budget_ms: to be spent on measuring algorithms, beyond finding out what a transfer
 *	costs; negative: measure nothing at all
 * @all: time all collectives; else the two that everybody uses
 * @file: where tables are, else NULL; of the environment
 * @fixed: algorithm by collective; 0: free
 */
struct select_plan {
	int32_t budget_ms;
	bool all;
	const char *file;
	uint16_t fixed[COLL_NR_COLLECTIVES];
};

/**
 * select_offer() - before the last round of coll_init()
 * @node: COLL_NODE
 * @plan: filled in from the environment on rank 0, whose word it is
 * @blob: what to tell the others; has room for RDV_BLOB bytes
 *
 * Return: 0, -EINVAL for a name that there is not, of a file too, or a line of it that
 * cannot be understood; -ENOMEM; others of open().
 */
int select_offer(coll_comm_t *comm, const char *node, struct select_plan *plan, uint8_t *blob);

/**
 * select_accept() - after it: order the nodes, measure, or read, and set tables
 * @comm: may be replaced, see order_accept()
 * @blobs: of all ranks, @stride bytes each
 * @deadline: of every command
 */
int select_accept(coll_comm_t **comm, const struct select_plan *plan, const uint8_t *blobs,
		  size_t stride, struct deadline deadline);

/**
 * select_inherit() - tables for a part of a communicator
 * @child: all of its ranks call this, before anybody uses it
 * @members: by rank of @child, the rank in @parent
 *
 * The same nodes in the same order: @parent's tables. Else by the model, with the
 * numbers that were measured there.
 */
int select_inherit(coll_comm_t *child, const coll_comm_t *parent, const uint32_t *members,
		   struct deadline deadline);

/*
 * The tables of @parent for a @child of the same ranks on the same nodes, without a collective
 * of @child's; the caller lets nobody use it before all have them.
 */
int select_copy(coll_comm_t *child, const coll_comm_t *parent);

/* select_env.c: */

#define SELECT_NAME	32

/*
 * The number of an algorithm, as in a command, by its name, as "ring" or "knomial:8"; 0:
 * none, or not for this collective. And back: "auto" for 0, "?" for one there is not.
 */
uint16_t select_number(uint32_t collective, const char *name);
const char *select_name(uint32_t collective, uint16_t number, char buf[SELECT_NAME]);
/* Can @a run @collective at all? As the kernel decides; the operator may say no. */
bool select_fits(uint32_t collective, const struct coll_algorithm *a);
int select_env(struct select_plan *plan);
int select_host_of(const char *node, struct select_host *host);
/* By its name, as select_host_of() makes it: the host's, and ":" and COLL_NODE, if set. */
int select_host_named(const char *name, struct select_host *host);

/* select_measure.c: */

/**
 * struct select_time - what is known of one algorithm
 * @alg: it
 * @segment: bytes of the pipelining unit, 0: the kernel's
 * @model: seconds at each size by the model
 * @measured: by measurement; 0: was not
 */
struct select_time {
	const struct coll_algorithm *alg;
	uint32_t segment;
	double model[SELECT_SIZES];
	double measured[SELECT_SIZES];
};

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
 * select_measure() - rank 0: time algorithms of one collective at size @k
 * @who: indices in @t, @nr of them
 * @left: seconds there are
 *
 * All take turns; who is clearly slower than the best drops out, and the others go on,
 * until one is left, or the time is up, or enough has been seen.
 * Return: 0; 1: there is no time for a single round, or no memory; or -errno.
 */
int select_measure(struct select_bench *b, struct select_time *t, const uint32_t *who,
		   uint32_t nr, uint32_t k, double left);

/* select_fill.c: */

/* Seconds at size @k: measured, or the model corrected by what was measured. */
double select_estimate(const struct select_time *t, uint32_t k);

/**
 * select_fill() - rank 0: make tables
 * @b: calibrated, or with a model from elsewhere
 * @plan: how long to time algorithms; 0: not at all
 */
int select_fill(struct select_bench *b, const struct select_plan *plan,
		struct select_tables *out);

/*
 * Do two algorithms of one collective do the same, but for the order of operands? Among
 * two participants many do.
 */
bool select_same_schedule(const struct coll_algorithm *a, const struct coll_algorithm *b,
			  uint32_t n);

#endif
