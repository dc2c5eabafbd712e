/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Sessions: an algorithm as a queue of compute steps and collectives over named objects,
 * repeated until a criterion on task 0 says stop, or max_iter is reached. After Alink's
 * IterativeComQueue and ComContext.
 *
 * Every rank of a communicator is one task. It makes a session with the same queue as
 * the others, and all of them call coll_iter_exec(). A queue runs like this:
 *
 *	broadcast data goes from task 0 to all
 *	for step number 1, 2, 3 ...
 *		each entry of the queue, in order
 *		task 0: the criterion
 *	close_with
 *
 * Errors are common to all: an entry that fails on one rank ends coll_iter_exec() on all
 * ranks with the error of the lowest rank that failed. The communicator stays usable.
 * coll_iter_error() names iteration, step and rank. An error of a collective itself
 * aborts the communicator, so that nobody waits.
 *
 * One thread at a time may use a session. Sessions that run at the same time need
 * communicators of their own, see coll_comm_dup(). Functions return 0 or a negative errno
 * unless they say otherwise.
 */
#ifndef COLL_ITERATE_H
#define COLL_ITERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A session: queue, data, and what is left of the last run. */
typedef struct coll_iter coll_iter_t;
/** The part of a run that a step sees. Valid during the call only. */
typedef struct coll_iter_ctx coll_iter_ctx_t;

/**
 * typedef coll_iter_fn - a compute step
 * @arg: of coll_iter_add()
 *
 * Return: 0, or a negative errno, which ends the session on all ranks.
 */
typedef int coll_iter_fn(coll_iter_ctx_t *ctx, void *arg);

/**
 * typedef coll_iter_criterion_fn - shall the session stop? Called on task 0 only.
 * @value: a number for progress lines and coll_iter_stats(); 0 if it is not set
 *
 * Return: 1: stop after this iteration; 0: go on; a negative errno. If *@value is not a
 * number the session ends with EDOM on all ranks.
 */
typedef int coll_iter_criterion_fn(coll_iter_ctx_t *ctx, void *arg, double *value);

/** How the memory of an object is given back, as free(). */
typedef void coll_iter_free_fn(void *data);

/**
 * coll_iter_create() - make a session with an empty queue
 * @comm: used by coll_iter_exec() only; must outlive the session
 * @it: result; end it by coll_iter_free()
 */
int coll_iter_create(coll_comm_t *comm, coll_iter_t **it);

/** coll_iter_free() - give everything back; NULL is allowed; never during a run */
void coll_iter_free(coll_iter_t *it);

/*
 * Filling the session. Names of objects and steps are copied; all ranks make the same calls in the
 * same order with the same names, types and operators, else coll_iter_exec() ends with EBADE.
 * Errors of all of these: EINVAL for a wrong argument, or the name of an object that is longer than
 * 127 bytes; EEXIST for a second object of a name; EBUSY if the session runs; ENOMEM.
 * coll_iter_exec() returns the first of these errors, too, so a program need not check the single
 * calls.
 */

/**
 * coll_iter_init_with_partitioned_data() - each task has its part of a table
 * @rows: the whole table, the same on all ranks; only this rank's part is read
 * @nr_rows: of the table; of these, the object @name has coll_iter_local_row_count()
 *	rows from coll_iter_start_pos() on
 * @row_bytes: bytes of a row
 *
 * The part is copied, and belongs to the session. It is the same memory in all runs.
 * With fewer rows than tasks the last tasks have an object of 0 bytes.
 * Errors: ENODATA if there are no rows.
 */
int coll_iter_init_with_partitioned_data(coll_iter_t *it, const char *name, const void *rows,
					 uint64_t nr_rows, size_t row_bytes);

/**
 * coll_iter_init_with_local_data() - each task brings its part itself
 * @data: @bytes bytes; may differ from rank to rank; see coll_csv_load()
 * @free_fn: the session owns @data and frees it by this function, also if this call fails;
 *	NULL: @data stays the caller's and must outlive the session
 */
int coll_iter_init_with_local_data(coll_iter_t *it, const char *name, void *data,
				   size_t bytes, coll_iter_free_fn *free_fn);

/**
 * coll_iter_init_with_broadcast_data() - every task has what task 0 gives
 * @data: copied; what other tasks give is not looked at, but @bytes must be equal
 *
 * Each run begins with a fresh copy.
 */
int coll_iter_init_with_broadcast_data(coll_iter_t *it, const char *name, const void *data,
				       size_t bytes);

/** coll_iter_add() - a compute step; @step is its name in messages */
int coll_iter_add(coll_iter_t *it, const char *step, coll_iter_fn *fn, void *arg);

/**
 * coll_iter_add_allreduce() - the object @name becomes its reduction over all tasks
 * @length_name: an object that holds a uint64_t, the elements to reduce, equal on all
 *	tasks; NULL: the whole object
 *
 * Errors: EOPNOTSUPP if the operator is not defined on the type. During a run: ENOENT if there is
 * no such object; EMSGSIZE if it is shorter than that, or not a whole number of elements; EBADE if
 * tasks have different lengths.
 */
int coll_iter_add_allreduce(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, enum coll_op_code op);

/** coll_iter_add_premulsum() - the same with COLL_OP_PREMULSUM and a task's own factor
 * @factor_name: an object that holds one element
 */
int coll_iter_add_premulsum(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, const char *factor_name);

/** coll_iter_add_user_allreduce() - the same with an operator of op.h */
int coll_iter_add_user_allreduce(coll_iter_t *it, const char *name, const char *length_name,
				 struct coll_user_type type, coll_op_t op);

/**
 * coll_iter_add_broadcast() - the object @name of task @root goes to all tasks
 * @length_name: looked at by @root only; NULL: the whole object
 *
 * Other tasks get an object of just that length; what they had of this name is freed.
 */
int coll_iter_add_broadcast(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, uint32_t root);

/**
 * coll_iter_add_allgather() - objects @name of all tasks, one behind the other, everywhere
 * @length_name: may differ from task to task; NULL: the whole object
 * @into: the result, made or replaced; not @name
 * @counts: an object of a uint64_t for each task, how many elements it gave, made or
 *	replaced; NULL: none
 */
int coll_iter_add_allgather(coll_iter_t *it, const char *name, const char *length_name,
			    enum coll_dtype dtype, const char *into, const char *counts);

/** coll_iter_set_compare_criterion_of_node0() - when to stop; NULL: at max_iter */
int coll_iter_set_compare_criterion_of_node0(coll_iter_t *it, coll_iter_criterion_fn *fn,
					     void *arg);

/**
 * coll_iter_set_max_iter() - how many iterations at most
 * @n: 1 or more. Without this call, as many as the criterion wants; without a
 *	criterion this call is necessary.
 */
int coll_iter_set_max_iter(coll_iter_t *it, uint64_t n);

/** coll_iter_close_with() - what to do after the last iteration, on every task */
int coll_iter_close_with(coll_iter_t *it, coll_iter_fn *fn, void *arg);

/** enum coll_iter_progress - a line on stderr after each iteration, by rank 0 */
enum coll_iter_progress {
	COLL_ITER_PROGRESS_AUTO	= 0,	/* if stderr is a terminal; the default */
	COLL_ITER_PROGRESS_ON	= 1,
	COLL_ITER_PROGRESS_OFF	= 2,
};

/**
 * coll_iter_set_progress() - switch progress lines
 *
 * The environment variable COLL_PROGRESS (1, 0) of rank 0 takes precedence. A line is
 * "coll: session 1, step 3: criterion 0.25, time 0.001200 s, allreduce 0.000300 s".
 */
int coll_iter_set_progress(coll_iter_t *it, enum coll_iter_progress how);

/**
 * coll_iter_exec() - run the queue
 *
 * A collective of the communicator. May be called again when it has returned. Objects that
 * steps have put are freed before it returns: the function of close_with has to copy what is
 * to survive.
 * Errors, the same on all ranks: those of steps; EBADE if the queues of the ranks differ; EDOM if
 * the criterion is not a number; ENOENT if an object is missing; EINVAL if there is no step, or
 * neither max_iter nor a criterion; the first error of filling the session; those of collectives.
 * On this rank only, at once: EBUSY if the session runs already; that run goes on.
 */
int coll_iter_exec(coll_iter_t *it);

/**
 * coll_iter_error() - one line about why the last call failed, for people
 *
 * As "iteration 3, step 2 (update), rank 1: no object 'sums'". "" if nothing failed.
 * Valid until the next call with this session.
 */
const char *coll_iter_error(const coll_iter_t *it);

/**
 * struct coll_iter_stats - what the last run did
 * @iterations: how many have ended
 * @criterion: its last value; the same on all tasks
 * @by_criterion: 1: the criterion ended it; 0: max_iter, or an error
 * @ns: the whole run; @comm_ns: of this, in collectives
 */
struct coll_iter_stats {
	uint64_t	iterations;
	double		criterion;
	uint64_t	by_criterion;
	uint64_t	ns;
	uint64_t	comm_ns;
	uint64_t	reserved[3];
};

void coll_iter_stats(const coll_iter_t *it, struct coll_iter_stats *st);

/*
 * The context. An object belongs to (name, session, task): what one session, or one task of
 * a process, puts, no other one sees. Objects live until they are removed or replaced, or
 * until the run ends.
 */

/** Number of this task; number of tasks; iteration, from 1 (in close_with the last one). */
uint32_t coll_iter_task_id(const coll_iter_ctx_t *ctx);
uint32_t coll_iter_nr_tasks(const coll_iter_ctx_t *ctx);
uint64_t coll_iter_step_no(const coll_iter_ctx_t *ctx);

/** Number of this run in the process of task 0, the same on all tasks. */
uint64_t coll_iter_session_id(const coll_iter_ctx_t *ctx);

/**
 * coll_iter_comm() - the communicator, for collectives of a step's own
 *
 * All tasks must call them. A task that has failed skips its compute steps until the tasks tell each
 * other, in the next step that communicates or at the end of the iteration. Meanwhile
 * the others would be in a collective of their own, and the communicator would be lost (EBADE). So
 * such a step must be the first of the queue, or follow a step of the session that communicates, or
 * be the function of coll_iter_close_with(). Its own errors must not keep a task from
 * a collective that the others call in that step.
 */
coll_comm_t *coll_iter_comm(const coll_iter_ctx_t *ctx);

/**
 * coll_iter_put() - give memory a name
 * @data: @bytes bytes; may be NULL if that is 0
 * @free_fn: the session owns @data from now on and frees it by this function; NULL: it stays
 *	the caller's, and must live as long as the object
 *
 * Replaces, and ends, an object of that name. After an error @data is the caller's.
 */
int coll_iter_put(coll_iter_ctx_t *ctx, const char *name, void *data, size_t bytes,
		  coll_iter_free_fn *free_fn);

/** coll_iter_new() - an object of @bytes zeroes; NULL: no memory, and the session ends */
void *coll_iter_new(coll_iter_ctx_t *ctx, const char *name, size_t bytes);

/**
 * coll_iter_get() - memory of an object
 * @bytes: result; NULL is allowed
 *
 * An object of 0 bytes has an address, too. Return: NULL if there is no such object: the session
 * ends with ENOENT at this step, whatever the step returns, and coll_iter_error() has the name.
 * The object may move when a communicate step replaces it; it does not move in an allreduce.
 */
void *coll_iter_get(coll_iter_ctx_t *ctx, const char *name, size_t *bytes);

/** coll_iter_find() - the same, but a missing object is no error */
void *coll_iter_find(coll_iter_ctx_t *ctx, const char *name, size_t *bytes);

/** coll_iter_remove() - end an object; ENOENT ends the session as of coll_iter_get() */
int coll_iter_remove(coll_iter_ctx_t *ctx, const char *name);

/** coll_iter_fail() - say in coll_iter_error() why this step fails; returns @err */
int coll_iter_fail(coll_iter_ctx_t *ctx, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Partition, as Alink's DefaultDistributedInfo: the first (rows modulo tasks) tasks have
 * one row more than the others. @tasks is not 0.
 */

/** First row of a task. */
uint64_t coll_iter_start_pos(uint64_t task, uint64_t tasks, uint64_t rows);
/** Rows of a task. */
uint64_t coll_iter_local_row_count(uint64_t task, uint64_t tasks, uint64_t rows);
/** The task that has a row; @row < @rows. */
uint64_t coll_iter_where(uint64_t row, uint64_t tasks, uint64_t rows);

/**
 * coll_iter_pieces() - elements of a vector that a task reduces, as in Alink's AllReduce
 * @count: elements; @piece: elements that stay together, not 0
 * @start: result
 *
 * Pieces, not elements, are dealt out by the formula above. Return: how many elements.
 */
uint64_t coll_iter_pieces(uint64_t task, uint64_t tasks, uint64_t count, uint64_t piece,
			  uint64_t *start);

/**
 * struct coll_csv_options - what a CSV file looks like
 * @struct_size: sizeof(struct coll_csv_options)
 * @header_lines: lines to pass over
 * @columns: of each row; 0: as many as the first row has
 * @separator: 0 is a comma
 */
struct coll_csv_options {
	size_t		struct_size;
	uint64_t	header_lines;
	uint32_t	columns;
	uint32_t	separator;
};

/**
 * struct coll_csv - this rank's rows
 * @rows: of the file; @first: the first one of this rank; @local: how many it has
 * @columns: of each row
 * @x: @local x @columns numbers, row by row
 */
struct coll_csv {
	uint64_t	rows, first, local;
	uint32_t	columns;
	double		*x;
};

/**
 * coll_csv_load() - read this rank's part of a table of numbers
 * @path: on every rank; the same file, or an equal copy
 * @opt: NULL: no header, commas
 * @csv: result; end it by coll_csv_free()
 * @why: NULL, or room for a line of @len bytes about what is wrong, the same on all ranks
 *
 * A collective. Each of n ranks goes through 1/n of the bytes twice, to count lines and to
 * find where parts begin, and then reads its own rows, which are those of
 * coll_iter_start_pos(). Numbers are decimal and finite, with a
 * point in every locale. A line may end with CR LF, and the file may begin with a byte order mark
 * of UTF-8. There are no quotes and no comments.
 * Errors, the same on all ranks: ENODATA if there are no rows; EISDIR if @path is a directory;
 * EINVAL if it is no regular file, if a line has another number of columns, or if a field is no
 * number: @why names line and column, of the first such line in the file; EBADE if the files of the
 * ranks have different sizes, or @opt differs; those of open() and read(); ENOMEM; those of
 * collectives.
 */
int coll_csv_load(coll_comm_t *comm, const char *path, const struct coll_csv_options *opt,
		  struct coll_csv *csv, char *why, size_t len);

/** coll_csv_free() - also after an error */
void coll_csv_free(struct coll_csv *csv);

#ifdef __cplusplus
}
#endif

#endif /* COLL_ITERATE_H */
