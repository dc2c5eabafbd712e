/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A session and its run, as the files of this directory see them. */
#ifndef LIBCOLL_ITERATE_SESSION_H
#define LIBCOLL_ITERATE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>

#include <coll/iterate.h>

#define ITER_TEXT	384	/* of an error, with its NUL */
#define ITER_NAME	128	/* longest name, with its NUL */

/**
 * struct iter_object - memory with a name
 * @free_fn: ends @data; NULL: somebody else owns it
 */
struct iter_object {
	char *name;
	void *data;
	size_t bytes;
	coll_iter_free_fn *free_fn;
};

/* Objects of one task in one session; owned by it. */
struct iter_objects {
	struct iter_object *at;
	size_t nr, room;
};

enum iter_kind {
	ITER_COMPUTE,
	ITER_ALLREDUCE,
	ITER_PREMULSUM,
	ITER_USER_ALLREDUCE,
	ITER_BROADCAST,
	ITER_ALLGATHER,
};

/**
 * struct iter_step - an entry of the queue
 * @name: of the step, or of its object; owned
 * @length, @second, @third: names of other objects, or NULL; owned
 */
struct iter_step {
	enum iter_kind kind;
	char *name, *length, *second, *third;
	coll_iter_fn *fn;
	void *arg;
	struct coll_user_type type;
	enum coll_op_code op;
	coll_op_t user_op;
	uint32_t root;
};

/**
 * struct coll_iter_ctx - a run
 * @error: first error of this rank that is not agreed on yet; @text: about it
 * @where, @where_nr: what runs, and its number in the queue (0: none), for messages
 * @placed: @text already says where the error happened
 * @comm_ns: spent in collectives so far
 */
struct coll_iter_ctx {
	coll_comm_t *comm;
	uint32_t task, tasks;
	uint64_t step_no, session;
	struct iter_objects objects;
	int error;
	char text[ITER_TEXT];
	const char *where;
	size_t where_nr;
	bool placed;
	uint64_t comm_ns;
};

/**
 * struct coll_iter - a session
 * @running: set by the exec that runs
 * @broken: first error of the calls that fill the session
 * @local: init data that is this task's, the same memory in all runs
 * @common: init data to be broadcast from task 0; copied for each run
 */
struct coll_iter {
	coll_comm_t *comm;
	atomic_bool running;
	int broken;
	struct iter_objects local, common;
	struct iter_step *steps;
	size_t nr_steps, room;
	coll_iter_criterion_fn *criterion;
	void *criterion_arg;
	coll_iter_fn *close_fn;
	void *close_arg;
	uint64_t max_iter;
	enum coll_iter_progress progress;
	struct coll_iter_stats stats;
	char text[ITER_TEXT];
	struct coll_iter_ctx ctx;
};

#endif
