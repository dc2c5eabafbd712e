// SPDX-License-Identifier: GPL-2.0
/*
 * usage: collrun -n RANKS coll_allreduce MODE TASK...: how a program may use coll
 *
 * ioctl       blocking calls, any memory
 * registered  blocking calls, buffers registered before
 * uring       nonblocking calls by io_uring, buffers registered before
 * thread      the same where there is no io_uring: by COLL_IOC_POST. The library had a thread for
 *             that once. The rows of performance.csv keep the name.
 */
#define _GNU_SOURCE
#include <errno.h>

#include <coll/coll.h>

#include "peer.h"

static coll_comm_t *comm;
static coll_request_t *requests[PEER_BURST];
static int blocking, registered;

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "rank %u: %s: %s\n", comm ? coll_comm_rank(comm) : 0, what,
		coll_strerror(ret));
	exit(1);
}

static void buffers(float *in, float *out, size_t bytes)
{
	uint32_t id;

	if (!registered || !bytes)
		return;
	must(coll_register_buffer(comm, in, bytes, 0, &id), "register");
	must(coll_register_buffer(comm, out, bytes, COLL_REG_WRITE, &id), "register");
}

static void start(int i, float *in, float *out, size_t count)
{
	must(coll_iallreduce(comm, in, out, count, COLL_F32, COLL_OP_SUM, &requests[i]),
	     "start");
}

static int test(int i)
{
	int done = 1;

	/* A request that is done does not exist any more: finish() must not use it. */
	if (requests[i])
		must(coll_test(requests[i], &done), "test");
	if (done)
		requests[i] = NULL;
	return done;
}

static void finish(int i)
{
	if (requests[i])
		must(coll_wait(requests[i]), "wait");
	requests[i] = NULL;
}

static void allreduce(float *in, float *out, size_t count)
{
	if (blocking) {
		must(coll_allreduce(comm, in, out, count, COLL_F32, COLL_OP_SUM), "allreduce");
		return;
	}
	start(0, in, out, count);
	finish(0);
}

static void barrier(void)
{
	must(coll_barrier(comm), "barrier");
}

static void collect(double *v, int n, int largest)
{
	must(coll_allreduce(comm, COLL_IN_PLACE, v, (uint64_t)n, COLL_F64,
			    largest ? COLL_OP_MAX : COLL_OP_SUM), "collect");
}

int main(int argc, char **argv)
{
	struct peer p = {
		.buffers = buffers, .barrier = barrier, .allreduce = allreduce,
		.start = start, .test = test, .wait = finish, .collect = collect,
	};
	const char *mode = argc > 1 ? argv[1] : "";
	const char *rank = getenv("COLL_RANK");

	blocking = !strcmp(mode, "ioctl") || !strcmp(mode, "registered");
	registered = strcmp(mode, "ioctl");
	if (!strcmp(mode, "thread")) {
		setenv("COLL_NO_URING", "1", 1);
	} else if (!blocking && strcmp(mode, "uring")) {
		fprintf(stderr, "usage: coll_allreduce ioctl|registered|uring|thread TASK...\n");
		return 2;
	}
	peer_enter_node(rank ? atoi(rank) : 0);
	must(coll_init(NULL, &comm), "init");
	p.rank = (int)coll_comm_rank(comm);
	p.ranks = (int)coll_comm_size(comm);
	peer_run(&p, argc - 2, argv + 2);
	coll_finalize(comm);
	return 0;
}
