// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Sessions: the queue, objects, partition, and everything that can go wrong. */
#include <math.h>
#include <stdarg.h>

#include <coll/iterate.h>

#include "threads.h"

/* Written down from Alink's DefaultDistributedInfo, case by case. */
static uint64_t alink_start(uint64_t task, uint64_t tasks, uint64_t rows)
{
	uint64_t div = rows / tasks, mod = rows % tasks;

	if (mod == 0)
		return div * task;
	if (task >= mod)
		return div * task + mod;
	return div * task + task;
}

static uint64_t alink_count(uint64_t task, uint64_t tasks, uint64_t rows)
{
	uint64_t div = rows / tasks, mod = rows % tasks;

	if (mod == 0 || task >= mod)
		return div;
	return div + 1;
}

static void test_partition(void)
{
	uint64_t tasks, rows, task, row, start, n;
	bool start_ok = true, count_ok = true, where_ok = true, whole = true;

	for (tasks = 1; tasks <= 64; tasks++) {
		for (rows = 0; rows <= 1000; rows++) {
			for (task = 0, row = 0; task < tasks; task++) {
				start = coll_iter_start_pos(task, tasks, rows);
				n = coll_iter_local_row_count(task, tasks, rows);
				start_ok &= start == alink_start(task, tasks, rows);
				count_ok &= n == alink_count(task, tasks, rows);
				whole &= start == row;
				for (; row < start + n; row++)
					where_ok &= coll_iter_where(row, tasks, rows) == task;
			}
			whole &= row == rows;
		}
	}
	ok(start_ok, "startPos is Alink's, 1 to 64 tasks, 0 to 1000 rows");
	ok(count_ok, "localRowCnt is Alink's");
	ok(whole, "the parts are all rows, in order");
	ok(where_ok, "where() says who has a row");
	n = coll_iter_pieces(0, 4, 15, 4096, &start);
	ok(n == 15 && !start, "15 doubles, 4 tasks, a piece of 4096: all for task 0");
	whole = true;
	for (task = 1; task < 4; task++)
		whole &= !coll_iter_pieces(task, 4, 15, 4096, &start);
	ok(whole, "and nothing for the others");
	whole = true;
	for (tasks = 1; tasks <= 9; tasks++)
		for (rows = 0; rows <= 100; rows++) {
			for (task = 0, row = 0; task < tasks; task++) {
				n = coll_iter_pieces(task, tasks, rows, 8, &start);
				whole &= !n || start == row;
				row += n;
			}
			whole &= row == rows;
		}
	ok(whole, "pieces of 8 cover every vector once");
}

/* --- a queue with everything in it ------------------------------------------- */

#define ROWS	23

/**
 * struct job - what a test asks for, and what came of it on each rank
 * @bad_rank, @bad_step: which step fails where
 */
struct job {
	uint32_t bad_rank, bad_step;
	int bad_error;
	uint64_t max_iter;
	double criterion;
	int ret[WORLD_MAX];
	double sum[WORLD_MAX];
	uint64_t iterations[WORLD_MAX], session[WORLD_MAX];
	char text[WORLD_MAX][256];
	bool good[WORLD_MAX];
};

static int bad(struct job *job, coll_iter_ctx_t *ctx, uint32_t step)
{
	return coll_iter_task_id(ctx) == job->bad_rank && step == job->bad_step &&
	       coll_iter_step_no(ctx) == 2 ? job->bad_error : 0;
}

static int step_sum(coll_iter_ctx_t *ctx, void *arg)
{
	size_t bytes = 0, i;
	double *rows = coll_iter_get(ctx, "rows", &bytes);
	double *scale = coll_iter_get(ctx, "scale", NULL);
	double *sum = coll_iter_find(ctx, "sum", NULL);
	uint64_t *own;

	if (!sum)
		sum = coll_iter_new(ctx, "sum", 4 * sizeof(*sum));
	own = coll_iter_new(ctx, "own", sizeof(*own) * coll_iter_task_id(ctx));
	if (!rows || !scale || !sum || !own)
		return -ENOMEM;
	for (i = 0; i < coll_iter_task_id(ctx); i++)
		own[i] = 100 * coll_iter_task_id(ctx) + i;
	memset(sum, 0, 4 * sizeof(*sum));
	sum[3] = 1;
	for (i = 0; i < bytes / sizeof(*rows); i++)
		sum[0] += rows[i] * *scale;
	return bad(arg, ctx, 0);
}

static int step_update(coll_iter_ctx_t *ctx, void *arg)
{
	struct job *job = arg;
	uint32_t me = coll_iter_task_id(ctx), n = coll_iter_nr_tasks(ctx), r, i;
	double *sum = coll_iter_get(ctx, "sum", NULL), *scale = coll_iter_get(ctx, "scale", NULL);
	uint64_t *all, *counts, k = 0;
	size_t bytes;

	all = coll_iter_get(ctx, "all", &bytes);
	counts = coll_iter_get(ctx, "counts", NULL);
	if (!sum || !scale || !all || !counts)
		return -ENOENT;
	job->sum[me] = sum[0];
	job->good[me] &= sum[3] == 1;	/* beyond the length */
	job->good[me] &= bytes == n * (n - 1) / 2 * sizeof(*all);
	for (r = 0; r < n; r++) {
		job->good[me] &= counts[r] == r;
		for (i = 0; i < r; i++)
			job->good[me] &= all[k++] == 100 * r + i;
	}
	*scale *= me == n - 1 ? 2 : 7;	/* the last one's goes to all */
	return bad(job, ctx, 1);
}

static int criterion(coll_iter_ctx_t *ctx, void *arg, double *value)
{
	struct job *job = arg;

	*value = job->criterion / (double)coll_iter_step_no(ctx);
	return coll_iter_task_id(ctx) ? -EPROTO : coll_iter_step_no(ctx) == 4;
}

static int done(coll_iter_ctx_t *ctx, void *arg)
{
	struct job *job = arg;

	job->session[coll_iter_task_id(ctx)] = coll_iter_session_id(ctx);
	return bad(job, ctx, 2);
}

static coll_iter_t *make(coll_comm_t *comm, struct job *job, const double *table)
{
	double scale = comm->rank ? 99 : 1;
	uint64_t three = 3;
	coll_iter_t *it;

	if (coll_iter_create(comm, &it))
		abort();
	coll_iter_init_with_partitioned_data(it, "rows", table, ROWS, sizeof(double));
	coll_iter_init_with_broadcast_data(it, "scale", &scale, sizeof(scale));
	coll_iter_init_with_broadcast_data(it, "three", &three, sizeof(three));
	coll_iter_add(it, "sum", step_sum, job);
	coll_iter_add_allreduce(it, "sum", "three", COLL_F64, COLL_OP_SUM);
	coll_iter_add_allgather(it, "own", NULL, COLL_U64, "all", "counts");
	coll_iter_add(it, "update", step_update, job);
	coll_iter_add_broadcast(it, "scale", NULL, COLL_F64, comm->size - 1);
	coll_iter_set_compare_criterion_of_node0(it, criterion, job);
	coll_iter_close_with(it, done, job);
	coll_iter_set_progress(it, COLL_ITER_PROGRESS_OFF);
	if (job->max_iter)
		coll_iter_set_max_iter(it, job->max_iter);
	return it;
}

static void run(coll_comm_t *comm, void *arg)
{
	struct job *job = arg;
	struct coll_iter_stats st;
	double table[ROWS];
	coll_iter_t *it;
	int i;

	for (i = 0; i < ROWS; i++)
		table[i] = i;
	it = make(comm, job, table);
	memset(table, 0xff, sizeof(table));	/* the part was copied */
	for (i = 0; i < 2; i++) {		/* the second run begins anew */
		job->good[comm->rank] = true;
		job->ret[comm->rank] = coll_iter_exec(it);
		coll_iter_stats(it, &st);
		job->iterations[comm->rank] = st.iterations;
		snprintf(job->text[comm->rank], 256, "%s", coll_iter_error(it));
	}
	coll_iter_free(it);
}

static bool all_say(const struct job *job, uint32_t n, int ret, const char *text)
{
	bool good = true;
	uint32_t r;

	for (r = 0; r < n; r++) {
		good &= job->ret[r] == ret && !strcmp(job->text[r], text);
		if (!good) {
			printf("# rank %u: %d, '%s'\n", r, job->ret[r], job->text[r]);
			break;
		}
	}
	return good;
}

static struct world world;

static void test_runs(void)
{
	static struct job job;
	uint32_t n, r;
	bool good;

	for (n = 1; n <= 30; n += n < 8 ? 1 : 22) {
		job = (struct job){ .bad_rank = 99, .criterion = 1 };
		world_init(&world, n);
		world_run(&world, run, &job);
		good = all_say(&job, n, 0, "") && !world.mixed_up;
		for (r = 0; r < n; r++)
			good &= job.good[r] && job.sum[r] == 253 * 8 && job.iterations[r] == 4 &&
				job.session[r] && job.session[r] == job.session[0];
		ok(good, "a queue, %u tasks, until the criterion", n);
	}
	job = (struct job){ .bad_rank = 99, .criterion = 1, .max_iter = 2 };
	world_init(&world, 3);
	world_run(&world, run, &job);
	ok(all_say(&job, 3, 0, "") && job.iterations[1] == 2 && job.sum[2] == 253 * 2,
	   "and until max_iter");
}

static void test_errors(void)
{
	static const char * const where[] = {
		"iteration 2, step 1 (sum), rank 1: ", "iteration 2, step 4 (update), rank 1: ",
		"iteration 2, close_with, rank 1: ",
	};
	static struct job job;
	char text[256];
	uint32_t step;

	for (step = 0; step < 3; step++) {
		job = (struct job){ .bad_rank = 1, .bad_step = step, .bad_error = -ERANGE,
				    .criterion = 1, .max_iter = 2 };
		world_init(&world, 4);
		world_run(&world, run, &job);
		snprintf(text, sizeof(text), "%s%s", where[step], coll_strerror(-ERANGE));
		ok(all_say(&job, 4, -ERANGE, text) && !world.mixed_up && !world.aborted,
		   "an error of one rank ends all: %s", text);
	}
	job = (struct job){ .bad_rank = 1, .bad_error = 5, .criterion = 1 };
	world_init(&world, 2);
	world_run(&world, run, &job);
	ok(all_say(&job, 2, -EINVAL,
		   "iteration 2, step 1 (sum), rank 1: it returned a positive number"),
	   "a step that returns a positive number");
	job = (struct job){ .bad_rank = 99, .criterion = NAN };
	world_init(&world, 3);
	world_run(&world, run, &job);
	ok(all_say(&job, 3, -EDOM, "iteration 1, criterion, rank 0: it is not a number"),
	   "NaN as criterion");
	job = (struct job){ .bad_rank = 99, .criterion = 1 };
	world_init(&world, 3);
	world.fail_at = 12;
	world_run(&world, run, &job);
	ok(job.ret[0] == 0, "a collective fails in the first run, and not in the second");
	ok(world.aborted == EHOSTDOWN, "and the communicator is aborted");
}

/* --- one fault each, by name -------------------------------------------------- */

enum fault {
	F_MISSING, F_REMOVE, F_SHORT, F_ODD, F_DIFFER, F_LENGTH, F_MAX_ITER, F_NO_ROWS,
	F_NO_END, F_EMPTY, F_QUEUE, F_OP, F_TWICE_NAME, F_ROOT, F_NR,
};

struct fault_job {
	enum fault fault;
	int ret[WORLD_MAX];
	char text[WORLD_MAX][256];
};

static int faulty(coll_iter_ctx_t *ctx, void *arg)
{
	struct fault_job *job = arg;
	uint32_t me = coll_iter_task_id(ctx);
	uint64_t *n = coll_iter_new(ctx, "n", 8);
	size_t bytes = 80;

	if (job->fault == F_MISSING && me == 1)
		coll_iter_get(ctx, "nothing", NULL);	/* and returns 0 */
	if (job->fault == F_REMOVE && me == 1)
		return coll_iter_remove(ctx, "nothing");
	if (job->fault == F_ODD && me == 1)
		bytes = 81;
	if (job->fault == F_DIFFER && me == 1)
		bytes = 88;
	if (!n || !coll_iter_new(ctx, "v", bytes))
		return -ENOMEM;
	if (job->fault == F_LENGTH && me == 1)
		return coll_iter_remove(ctx, "n");
	*n = job->fault == F_SHORT && me == 1 ? 11 : 10;
	return 0;
}

static void run_fault(coll_comm_t *comm, void *arg)
{
	struct fault_job *job = arg;
	enum fault f = job->fault;
	double x = 0;
	coll_iter_t *it;

	if (coll_iter_create(comm, &it))
		abort();
	coll_iter_set_progress(it, COLL_ITER_PROGRESS_OFF);
	if (f == F_NO_ROWS)
		coll_iter_init_with_partitioned_data(it, "rows", &x, 0, 8);
	if (f == F_TWICE_NAME) {
		coll_iter_init_with_broadcast_data(it, "x", &x, 8);
		coll_iter_init_with_broadcast_data(it, "x", &x, 8);
	}
	if (f != F_EMPTY) {
		coll_iter_add(it, "faulty", faulty, job);
		coll_iter_add_allreduce(it, "v", f == F_SHORT || f == F_LENGTH ? "n" : NULL, COLL_F64,
					f == F_OP ? COLL_OP_BAND : COLL_OP_SUM);
	}
	if (f == F_QUEUE && comm->rank == 2)
		coll_iter_add(it, "more", faulty, job);
	if (f == F_ROOT && comm->rank == 1)
		coll_iter_add_broadcast(it, "v", NULL, COLL_F64, 17);
	if (f != F_NO_END)
		coll_iter_set_max_iter(it, f == F_MAX_ITER ? 0 : 3);
	job->ret[comm->rank] = coll_iter_exec(it);
	snprintf(job->text[comm->rank], 256, "%s", coll_iter_error(it));
	coll_iter_free(it);
}

static void test_faults(void)
{
	static const struct { int ret; const char *text; } want[F_NR] = {
		[F_MISSING] = { -ENOENT, "iteration 1, step 1 (faulty), rank 1: no object 'nothing'" },
		[F_REMOVE] = { -ENOENT, "iteration 1, step 1 (faulty), rank 1: no object 'nothing'" },
		[F_SHORT] = { -EMSGSIZE, "iteration 1, step 2 (v), rank 1: object 'v' has 80 bytes, less than 11 elements of 8" },
		[F_ODD] = { -EMSGSIZE, "iteration 1, step 2 (v), rank 1: object 'v' has 81 bytes, no whole number of elements of 8" },
		[F_DIFFER] = { -EBADE, "iteration 1, step 2 (v): ranks have 10 to 11 elements of 'v'" },
		[F_LENGTH] = { -ENOENT, "iteration 1, step 2 (v), rank 1: no object 'n'" },
		[F_MAX_ITER] = { -EINVAL, "start, rank 0: max_iter is 0" },
		[F_NO_ROWS] = { -ENODATA, "start, rank 0: object 'rows' has no rows" },
		[F_NO_END] = { -EINVAL, "start, rank 0: neither max_iter nor a criterion" },
		[F_EMPTY] = { -EINVAL, "start, rank 0: the queue is empty" },
		[F_QUEUE] = { -EBADE, "start: the queues of the ranks differ" },
		[F_OP] = { -EOPNOTSUPP, "start, rank 0: allreduce of 'v': operator 8 is not defined on type 16" },
		[F_TWICE_NAME] = { -EEXIST, "start, rank 0: object 'x' is there already" },
		[F_ROOT] = { -EINVAL, "start, rank 1: broadcast of 'v': no task 17" },
	};
	struct fault_job job;
	uint32_t r;
	bool good;
	int f;

	for (f = 0; f < F_NR; f++) {
		memset(&job, 0, sizeof(job));
		job.fault = f;
		world_init(&world, 3);
		world_run(&world, run_fault, &job);
		good = !world.mixed_up && !world.aborted;
		for (r = 0; r < 3; r++)
			good &= job.ret[r] == want[f].ret && !strcmp(job.text[r], want[f].text);
		if (!good)
			printf("# %d, '%s'\n", job.ret[2], job.text[2]);
		ok(good, "%s", want[f].text);
	}
}

/* --- two sessions, run twice, other operators --------------------------------- */

struct twice {
	coll_iter_t *it;
	int inner;
};

static int again(coll_iter_ctx_t *ctx, void *arg)
{
	struct twice *t = arg;

	t->inner = coll_iter_exec(t->it);
	if (coll_iter_add(t->it, "late", again, t) != -EBUSY)
		t->inner = 1;
	return 0;
}

static _Atomic int busy;

static void run_twice(coll_comm_t *comm, void *arg)
{
	struct twice t = { 0 };

	if (coll_iter_create(comm, &t.it))
		abort();
	coll_iter_add(t.it, "again", again, &t);
	coll_iter_set_max_iter(t.it, 2);
	if (!coll_iter_exec(t.it) && t.inner == -EBUSY)
		busy++;
	coll_iter_free(t.it);
}

/* The same name in two sessions of a task that run one within the other. */
static int inner(coll_iter_ctx_t *ctx, void *arg)
{
	double *x = coll_iter_find(ctx, "x", NULL);

	if (x)
		return -EEXIST;
	x = coll_iter_new(ctx, "x", 8);
	return x ? 0 : -ENOMEM;
}

static int outer(coll_iter_ctx_t *ctx, void *arg)
{
	double *x = coll_iter_new(ctx, "x", 8);
	coll_iter_t *it;
	int ret;

	if (!x)
		return -ENOMEM;
	*x = 5 + coll_iter_task_id(ctx);
	if (coll_iter_create(coll_iter_comm(ctx), &it))
		abort();
	coll_iter_add(it, "inner", inner, NULL);
	coll_iter_add_allreduce(it, "x", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_set_max_iter(it, 1);
	ret = coll_iter_exec(it);
	coll_iter_free(it);
	if (!ret && *x == 5 + coll_iter_task_id(ctx))
		busy++;
	return ret;
}

static void run_two(coll_comm_t *comm, void *arg)
{
	coll_iter_t *it;

	if (coll_iter_create(comm, &it))
		abort();
	coll_iter_add(it, "outer", outer, NULL);
	coll_iter_set_max_iter(it, 1);
	if (coll_iter_exec(it))
		busy = 100;
	coll_iter_free(it);
}

static int put_ops(coll_iter_ctx_t *ctx, void *arg)
{
	uint64_t *bits = coll_iter_new(ctx, "bits", 16);
	double *x = coll_iter_new(ctx, "x", 8), *f = coll_iter_new(ctx, "f", 8);

	if (!bits || !x || !f)
		return -ENOMEM;
	bits[1] = 1ULL << coll_iter_task_id(ctx);
	*x = 2;
	*f = 1 + coll_iter_task_id(ctx);
	return 0;
}

static int check_ops(coll_iter_ctx_t *ctx, void *arg)
{
	uint64_t *bits = coll_iter_get(ctx, "bits", NULL);
	double *x = coll_iter_get(ctx, "x", NULL);

	if (bits && x && bits[1] == 31 && *x == 2 * (1 + 2 + 3 + 4 + 5))
		busy++;
	return 0;
}

static void run_ops(coll_comm_t *comm, void *arg)
{
	coll_iter_t *it;

	if (coll_iter_create(comm, &it))
		abort();
	coll_iter_add(it, "put", put_ops, NULL);
	coll_iter_add_user_allreduce(it, "bits", NULL, coll_type_opaque(8), 1);
	coll_iter_add_premulsum(it, "x", NULL, COLL_F64, "f");
	coll_iter_add(it, "check", check_ops, NULL);
	coll_iter_set_max_iter(it, 1);
	coll_iter_exec(it);
	coll_iter_free(it);
}

/* --- steps with collectives of their own ---------------------------------------- */

struct own_job {
	int ret[WORLD_MAX];
	char text[WORLD_MAX][256];
};

static int own(coll_iter_ctx_t *ctx, void *arg)
{
	uint64_t one = 1;
	int ret = coll_allreduce(coll_iter_comm(ctx), COLL_IN_PLACE, &one, 1, COLL_U64, COLL_OP_SUM);
	size_t bytes = 1;

	/* The part of a rank without rows is an object as well. */
	if (coll_iter_put(ctx, "empty", NULL, 0, NULL) || !coll_iter_get(ctx, "empty", &bytes) || bytes)
		return -EBADMSG;
	return ret ? ret : one == coll_iter_nr_tasks(ctx) ? 0 : -EBADMSG;
}

static int fails_at_last(coll_iter_ctx_t *ctx, void *arg)
{
	return coll_iter_step_no(ctx) == 3 && coll_iter_task_id(ctx) == 1 ? -ERANGE : 0;
}

/* Where such a step may be: see coll_iter_comm(). */
static void run_own(coll_comm_t *comm, void *arg)
{
	struct own_job *job = arg;
	coll_iter_t *it;
	double x = 0;

	if (coll_iter_create(comm, &it))
		abort();
	coll_iter_set_progress(it, COLL_ITER_PROGRESS_OFF);
	coll_iter_init_with_broadcast_data(it, "x", &x, sizeof(x));
	coll_iter_add(it, "first", own, NULL);
	coll_iter_add(it, "fails", fails_at_last, NULL);
	coll_iter_add_allreduce(it, "x", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_add(it, "behind", own, NULL);
	coll_iter_set_max_iter(it, 3);
	coll_iter_close_with(it, own, NULL);
	job->ret[comm->rank] = coll_iter_exec(it);
	snprintf(job->text[comm->rank], 256, "%s", coll_iter_error(it));
	coll_iter_free(it);
}

static void test_own(void)
{
	static struct own_job job;
	char text[256];
	bool good = true;
	uint32_t r;

	snprintf(text, sizeof(text), "iteration 3, step 2 (fails), rank 1: %s", coll_strerror(-ERANGE));
	world_init(&world, 3);
	world_run(&world, run_own, &job);
	for (r = 0; r < 3; r++)
		good &= job.ret[r] == -ERANGE && !strcmp(job.text[r], text);
	ok(good && !world.mixed_up && !world.aborted,
	   "steps with collectives of their own, first and behind an allreduce");
}

static void test_others(void)
{
	busy = 0;
	world_init(&world, 3);
	world_run(&world, run_twice, NULL);
	ok(busy == 3, "a session that runs already is EBUSY, and goes on");
	busy = 0;
	world_init(&world, 3);
	world_run(&world, run_two, NULL);
	ok(busy == 3, "two sessions of a process do not see each other's objects");
	busy = 0;
	world_init(&world, 5);
	world_run(&world, run_ops, NULL);
	ok(busy == 5, "operators of the user's, and premulsum");
}

int main(void)
{
	test_partition();
	test_runs();
	test_errors();
	test_faults();
	test_own();
	test_others();
	return ok_done();
}
