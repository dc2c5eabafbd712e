// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_threads: two threads ask for the state of one request, nonblocking or persistent, until it is
 * over. Then one of them waits for it.
 */
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define INIT(name)	MPIX_##name##_init
#else
#define INIT(name)	MPI_##name##_init
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORLD	MPI_COMM_WORLD
#define ROUNDS	1000
#define COUNT	2000

static int me;
static MPI_Request request;
static pthread_barrier_t both;

static void fail(const char *what, int n)
{
	fprintf(stderr, "rank %d: %s, %d\n", me, what, n);
	MPI_Abort(WORLD, 1);
}

static void ask(void)
{
	int flag = 0;

	pthread_barrier_wait(&both);
	while (!flag)
		MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
	pthread_barrier_wait(&both);
}

static void *ask_always(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 2 * ROUNDS; i++)
		ask();
	return NULL;
}

static int from[COUNT], into[COUNT];

static void set(int round)
{
	int i;

	for (i = 0; i < COUNT; i++) {
		from[i] = round + i;
		into[i] = 0;
	}
}

static void check(int round, int size)
{
	int i;

	ask();
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < COUNT; i++)
		if (into[i] != size * (round + i))
			fail("a sum is wrong", round);
}

int main(int argc, char **argv)
{
	int provided, size, i;
	pthread_t thread;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(WORLD, &me);
	MPI_Comm_size(WORLD, &size);
	if (provided != MPI_THREAD_MULTIPLE)
		fail("no threads", provided);
	if (pthread_barrier_init(&both, NULL, 2) ||
	    pthread_create(&thread, NULL, ask_always, NULL))
		fail("no thread", 0);
	for (i = 0; i < ROUNDS; i++) {
		set(i);
		MPI_Iallreduce(from, into, COUNT, MPI_INT, MPI_SUM, WORLD, &request);
		check(i, size);
	}
	INIT(Allreduce)(from, into, COUNT, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &request);
	for (i = 0; i < ROUNDS; i++) {
		set(i);
		MPI_Start(&request);
		check(i, size);
	}
	pthread_join(thread, NULL);
	MPI_Request_free(&request);
	MPI_Barrier(WORLD);
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
