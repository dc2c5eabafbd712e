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
 * @placed: @text says already where that was
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

/**
 * struct iter_vote - what ranks tell each other before they go on
 * @error, @rank: of the lowest rank that failed, after the vote; 0: none failed
 * @min, @max: of @mine over all ranks
 * @flag: the largest over all ranks
 */
struct iter_vote {
	uint64_t mine, min, max, flag;
	int error;
	uint32_t rank;
};

/* objects.c; iter_find() and iter_put() know nothing of a run. */
struct iter_object *iter_find(struct iter_objects *objs, const char *name);
int iter_put(struct iter_objects *objs, const char *name, void *data, size_t bytes,
	     coll_iter_free_fn *free_fn);
void iter_objects_free(struct iter_objects *objs);
/* Room for @bytes, of which 0 are a byte, too. */
void *iter_alloc(uint64_t bytes);

/*
 * vote.c: all ranks learn whether any of them has failed. @error and the text are this
 * rank's. Return: 0; the error of the rank that failed, whose text is in @text then; or
 * that of the collective.
 */
int iter_vote(coll_comm_t *comm, struct iter_vote *v, char text[ITER_TEXT]);
/* After a collective has failed: nobody is to wait for us; says why in @text. */
int iter_broken(coll_comm_t *comm, int err, const char *what, char text[ITER_TEXT]);
uint64_t iter_now(void);

/* communicate.c: run a step that is no compute step; errors are common to all ranks. */
int iter_communicate(struct coll_iter_ctx *ctx, const struct iter_step *step);
/* The first part of each: iter_vote() with the errors that steps have noted. */
int iter_settle(struct coll_iter_ctx *ctx, struct iter_vote *v);
/* Put iteration and step in front of the text, and the rank if it is this one's error. */
void iter_place(struct coll_iter_ctx *ctx, bool own);

/* progress.c */
bool iter_progress_wanted(const struct coll_iter *it);
void iter_progress_line(const struct coll_iter_ctx *ctx, bool has_criterion, double criterion,
			uint64_t ns, uint64_t comm_ns);

#endif
