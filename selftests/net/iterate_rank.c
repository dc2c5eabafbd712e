// SPDX-License-Identifier: GPL-2.0
/*
 * usage: iterate_rank error|nan|missing|length|twice|threads|death, one of four ranks
 *
 * A session that goes wrong in one way. All ranks must be told the same, and then another
 * session must run on the same communicator.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coll/iterate.h>

static const char *how;
static int inner;

/**
 * struct want - what all ranks should be told
 */
static const struct want {
	const char *how;
	int ret;
	const char *text;
} wants[] = {
	{ "error", -ERANGE, "iteration 3, step 1 (compute), rank 2: out of luck" },
	{ "nan", -EDOM, "iteration 2, criterion, rank 0: it is not a number" },
	{ "missing", -ENOENT, "iteration 1, step 1 (compute), rank 1: no object 'mass'" },
	{ "length", -EBADE, "iteration 1, step 2 (x): ranks have 8 to 9 elements of 'x'" },
	{ "twice", 0, "" },
	{ "threads", 0, "" },
	{ "death", -EHOSTDOWN, NULL },
};

static int compute(coll_iter_ctx_t *ctx, void *arg)
{
	uint32_t me = coll_iter_task_id(ctx);
	uint64_t step = coll_iter_step_no(ctx);
	double *x;
	int i;

	if (!strcmp(how, "error") && me == 2 && step == 3)
		return coll_iter_fail(ctx, -ERANGE, "out of luck");
	if (!strcmp(how, "missing") && me == 1)
		coll_iter_get(ctx, "mass", NULL);
	if (!strcmp(how, "death") && me == 2 && step == 3)
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "twice"))
		inner = coll_iter_exec(*(coll_iter_t **)arg);
	x = coll_iter_new(ctx, "x", (8 + (!strcmp(how, "length") && me == 3)) * sizeof(*x));
	if (!x)
		return -ENOMEM;
	for (i = 0; i < 8; i++)
		x[i] = i + me;
	return 0;
}

static int check(coll_iter_ctx_t *ctx, void *arg)
{
	uint32_t n = coll_iter_nr_tasks(ctx), i;
	double *x = coll_iter_get(ctx, "x", NULL);

	(void)arg;
	for (i = 0; x && i < 8; i++)
		if (x[i] != n * i + n * (n - 1) / 2.)
			return coll_iter_fail(ctx, -EPROTO, "a wrong sum");
	return 0;
}

static int criterion(coll_iter_ctx_t *ctx, void *arg, double *value)
{
	(void)arg;
	*value = !strcmp(how, "nan") && coll_iter_step_no(ctx) == 2 ? NAN : 1;
	return coll_iter_step_no(ctx) == 5;
}

static int session(coll_comm_t *comm, char *text, size_t len)
{
	coll_iter_t *it;
	int ret;

	ret = coll_iter_create(comm, &it);
	if (ret)
		return ret;
	coll_iter_add(it, "compute", compute, &it);
	coll_iter_add_allreduce(it, "x", NULL, COLL_F64, COLL_OP_SUM);
	coll_iter_add(it, "check", check, NULL);
	coll_iter_set_compare_criterion_of_node0(it, criterion, NULL);
	ret = coll_iter_exec(it);
	snprintf(text, len, "%s", coll_iter_error(it));
	coll_iter_free(it);
	return ret;
}

static void *session_thread(void *comm)
{
	char text[256];

	return (void *)(intptr_t)session(comm, text, sizeof(text));
}

/* Two sessions of a process at the same time, on communicators of their own. */
static int two_sessions(coll_comm_t *comm)
{
	coll_comm_t *other;
	char text[256];
	pthread_t thread;
	void *res;
	int ret;

	ret = coll_comm_dup(comm, &other);
	if (ret)
		return ret;
	if (pthread_create(&thread, NULL, session_thread, other))
		return -EAGAIN;
	ret = session(comm, text, sizeof(text));
	pthread_join(thread, &res);
	coll_finalize(other);
	return ret ? ret : (int)(intptr_t)res;
}

static int run(coll_comm_t *comm, const struct want *w)
{
	char text[256] = "";
	int ret;

	if (!strcmp(how, "threads"))
		ret = two_sessions(comm);
	else
		ret = session(comm, text, sizeof(text));
	if (!w->text) {		/* the communicator is no more */
		printf("told: %d %s\n", ret, text);
		return ret != w->ret;
	}
	if (ret != w->ret || strcmp(text, w->text)) {
		printf("rank %u: %d, '%s'\n", coll_comm_rank(comm), ret, text);
		return 1;
	}
	if (!strcmp(how, "twice") && inner != -EBUSY) {
		printf("rank %u: the second run gave %d\n", coll_comm_rank(comm), inner);
		return 1;
	}
	how = "";
	ret = session(comm, text, sizeof(text));
	if (ret)
		printf("rank %u, afterwards: %d, '%s'\n", coll_comm_rank(comm), ret, text);
	return ret != 0;
}

int main(int argc, char **argv)
{
	coll_comm_t *comm;
	size_t i;
	int ret;

	for (i = 0; argc == 2 && i < sizeof(wants) / sizeof(wants[0]); i++)
		if (!strcmp(argv[1], wants[i].how)) {
			how = wants[i].how;
			ret = coll_init(NULL, &comm);
			if (ret) {
				printf("coll_init: %s\n", coll_strerror(ret));
				return 1;
			}
			ret = run(comm, &wants[i]);
			coll_finalize(comm);
			return ret;
		}
	return 2;
}
