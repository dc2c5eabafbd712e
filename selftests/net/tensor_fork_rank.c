// SPDX-License-Identifier: GPL-2.0
/*
 * collrun -n 2 ... tensor_fork_rank MODE: a rank that forks while a named tensor is pending.
 *
 *	wait	another thread waits for the tensor
 *	thread	a thread of the library takes results
 *	idle	nobody waits for it
 *
 * The child calls everything that locks, and ends the communicator. No callback runs in the child.
 * The tensor of the parent completes when the children of both ranks have ended.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coll/tensor.h>

#include "rank.h"

#define LIMIT_S		30	/* a child that takes longer hangs */

static coll_comm_t *comm;
static coll_tensors_t *ts;
static coll_tensor_t *pending, *made;
static pid_t parent;
static int32_t one = 1, sum, again;
static _Atomic bool waits;

static void called(coll_tensor_t *t, int result, void *arg)
{
	(void)t, (void)result, (void)arg;
	if (getpid() != parent)
		_exit(20);
}

static void refused(int ret, int number)
{
	if (ret != -EPERM)
		_exit(number);
}

static void child(void)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t;
	size_t posted;
	int done;

	alarm(LIMIT_S);
	coll_tensor_spec_init(&spec, "of the child");
	coll_cmd_barrier(coll_tensors_comm(ts), &spec.cmd);
	refused(coll_tensor_create(ts, &spec, &t), 1);
	refused(coll_tensor_submit(ts, &spec, &t), 2);
	refused(coll_tensor_post(made), 3);
	refused(coll_tensor_postall(&made, 1, &posted), 4);
	refused(coll_tensor_barrier(ts, "of the child", NULL), 5);
	refused(coll_tensor_wait(pending), 6);
	refused(coll_tensor_test(pending, &done), 7);
	refused(coll_tensors_poll(ts, 1), 8);
	refused(coll_tensors_join(ts, NULL), 9);
	if (coll_tensor_free(made))
		_exit(10);
	if (coll_tensors_finalize(ts))
		_exit(11);
	coll_finalize(comm);
	_exit(0);
}

static void *wait_thread(void *arg)
{
	(void)arg;
	waits = true;
	must(coll_tensor_wait(pending), "wait for the tensor");
	return NULL;
}

/* Each rank posts a tensor that the other one posts when both children have ended. */
static void begin(void)
{
	struct coll_tensor_spec spec;

	coll_tensor_spec_init(&spec, me ? "one" : "zero");
	coll_cmd_allreduce(coll_tensors_comm(ts), &spec.cmd, &one, &sum, 1, COLL_I32, COLL_OP_SUM);
	spec.fn = called;
	must(coll_tensor_submit(ts, &spec, &pending), "submit");
	coll_tensor_spec_init(&spec, "made");
	coll_cmd_barrier(coll_tensors_comm(ts), &spec.cmd);
	must(coll_tensor_create(ts, &spec, &made), "create");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool thread = !strcmp(mode, "wait");
	pthread_t t;
	int status;
	pid_t pid;

	parent = getpid();
	must(coll_init(NULL, &comm), "coll_init");
	me = coll_comm_rank(comm);
	must(coll_tensors_create(comm, strcmp(mode, "thread") ? 0 : COLL_TENSORS_THREAD, &ts),
	     "create");
	begin();
	if (thread) {
		pthread_create(&t, NULL, wait_thread, NULL);
		while (!waits)
			usleep(1000);
	}
	/* Most threads sleep in the kernel then. If one holds the lock, the child must be right, too. */
	usleep(100000);
	pid = fork();
	if (!pid)
		child();
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "rank %u: the child ended with %x\n", me, status);
		return 1;
	}
	/* The tensor of a slower rank must stay pending until its child has ended, too. */
	must(coll_barrier(comm), "barrier");
	must(coll_tensor_allreduce(ts, me ? "zero" : "one", &one, &again, 1, COLL_I32, COLL_OP_SUM,
				   NULL), "the tensor of the other rank");
	if (thread)
		pthread_join(t, NULL);
	else
		must(coll_tensor_wait(pending), "wait");
	must(sum != 2 || again != 2 ? -EBADMSG : 0, "results");
	must(coll_tensor_post(made), "post");
	must(coll_tensor_wait(made), "wait");
	must(coll_tensor_free(made), "free");
	must(coll_tensors_finalize(ts), "finalize");
	coll_finalize(comm);
	return 0;
}
