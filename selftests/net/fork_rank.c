// SPDX-License-Identifier: GPL-2.0
/*
 * collrun -n 2 ... fork_rank MODE: a rank that forks while it has nonblocking commands.
 *
 *	calls	the child calls everything that is nonblocking, and ends the communicator
 *	thread	another thread waits for a message; the child ends the communicator
 *	idle	nothing is under way; the child has memory where the parent has its ring
 *	own	the child has a communicator of its own
 *
 * The commands of the parent go on, and have their results.
 */
#define _GNU_SOURCE	/* MAP_FIXED_NOREPLACE */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coll/coll.h>

#include "rank.h"

#define LIMIT_S		30	/* a child that takes longer hangs */
#define RINGS		8

static coll_comm_t *comm;
static coll_request_t *receive, *flight, *prepared;
static int32_t got, one = 1, sum;

/* Mappings of rings in the parent; the child has nothing there. */
static struct { unsigned long at, end; } rings[RINGS];
static unsigned int nr_rings;

static void find_rings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "io_uring") && nr_rings < RINGS &&
		    sscanf(line, "%lx-%lx", &rings[nr_rings].at, &rings[nr_rings].end) == 2)
			nr_rings++;
	if (f)
		fclose(f);
}

static char *ring_memory(unsigned int i)
{
	return (char *)rings[i].at;
}

/* Put memory of the child where the rings of the parent are. */
static void take_places(void)
{
	unsigned int i;

	for (i = 0; i < nr_rings; i++) {
		size_t len = rings[i].end - rings[i].at;

		if (mmap(ring_memory(i), len, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			 MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != ring_memory(i))
			_exit(20);
		memset(ring_memory(i), 0x5a, len);
	}
}

static void check_places(void)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < nr_rings; i++)
		for (k = 0; k < rings[i].end - rings[i].at; k++)
			if (ring_memory(i)[k] != 0x5a)
				_exit(21);
}

static void refused(int ret, int number)
{
	if (ret != -EPERM)
		_exit(number);
}

static void child_calls(void)
{
	coll_request_t *req;
	int32_t x = 1, y;
	int done = 0;

	refused(coll_iallreduce(comm, &x, &y, 1, COLL_I32, COLL_OP_SUM, &req), 1);
	refused(coll_isend(comm, &x, 1, COLL_I32, !me, 1, &req), 2);
	refused(coll_start(prepared), 3);
	refused(coll_test(receive, &done), 4);
	refused(done ? coll_wait(receive) : 0, 5);
	refused(coll_cancel(receive), 6);
	refused(coll_wait(flight), 7);
	refused(coll_allreduce(comm, &x, &y, 1, COLL_I32, COLL_OP_SUM), 8);
	refused(coll_recv(comm, &x, 1, COLL_I32, !me, 1, NULL), 9);
	if (coll_request_free(prepared))
		_exit(10);
	coll_finalize(comm);
}

/* A communicator of one rank, blocking and not. */
static void child_has_own(void)
{
	struct coll_config cfg;
	coll_request_t *req;
	coll_comm_t *own;
	int32_t x = 1, y = 0, z = 0;

	coll_config_init(&cfg);
	cfg.rank = 0;
	cfg.size = 1;
	if (coll_init(&cfg, &own) ||
	    coll_iallreduce(own, &x, &y, 1, COLL_I32, COLL_OP_SUM, &req) || coll_wait(req) ||
	    coll_allreduce(own, &x, &z, 1, COLL_I32, COLL_OP_SUM) || y != 1 || z != 1)
		_exit(30);
	coll_finalize(comm);
	coll_finalize(own);
}

static void child(const char *mode)
{
	alarm(LIMIT_S);
	take_places();
	if (!strcmp(mode, "calls"))
		child_calls();
	else if (!strcmp(mode, "own"))
		child_has_own();
	else
		coll_finalize(comm);
	check_places();
	_exit(0);
}

static _Atomic int waiter;

static void *wait_thread(void *arg)
{
	(void)arg;
	waiter = (int)syscall(SYS_gettid);
	must(coll_wait(receive), "wait for the message");
	return NULL;
}

static bool asleep(void)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiter);
	f = waiter ? fopen(path, "re") : NULL;
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/* Begin a receive, and a collective in shared memory, which the other rank begins later. */
static void begin(void)
{
	must(coll_irecv(comm, &got, 1, COLL_I32, !me, 1, NULL, &receive), "irecv");
	must(coll_iallreduce(comm, &one, &sum, 1, COLL_I32, COLL_OP_SUM, &flight), "iallreduce");
}

static void end(bool waited)
{
	int32_t mine = (int32_t)me + 10;

	must(coll_send(comm, &mine, 1, COLL_I32, !me, 1), "send");
	if (!waited)
		must(coll_wait(receive), "wait for the message");
	must(coll_wait(flight), "wait for the sum");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool thread = !strcmp(mode, "thread"), idle = !strcmp(mode, "idle");
	struct coll_cmd cmd;
	pthread_t t;
	int status;
	pid_t pid;

	must(coll_init(NULL, &comm), "coll_init");
	me = coll_comm_rank(comm);
	coll_cmd_barrier(comm, &cmd);
	must(coll_persist(comm, &cmd, &prepared), "persist");
	begin();
	if (idle)
		end(false);
	if (thread) {
		pthread_create(&t, NULL, wait_thread, NULL);
		while (!asleep())
			usleep(1000);
	}
	find_rings();
	pid = fork();
	if (!pid)
		child(mode);
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "rank %u: the child ended with %x\n", me, status);
		return 1;
	}
	/* The other rank has forked, too, before it gets its message. */
	must(coll_barrier(comm), "barrier");
	if (!idle)
		end(thread);
	if (thread)
		pthread_join(t, NULL);
	must(got != (int32_t)!me + 10 || sum != 2 ? -EBADMSG : 0, "results");
	must(coll_barrier(comm), "barrier");
	must(coll_request_free(prepared), "free");
	coll_finalize(comm);
	return 0;
}
