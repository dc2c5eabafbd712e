// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_many: more communicators than files that the process may open, each of them with collectives.
 * The program may open nearly half of the files itself.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define COMMS	300

static int me;

static void fail(const char *what, int n)
{
	fprintf(stderr, "rank %d: %s, %d\n", me, what, n);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* An MPI may have some files, too. */
static void open_files(void)
{
	struct rlimit most;
	int n, i;

	if (getrlimit(RLIMIT_NOFILE, &most) || most.rlim_cur > COMMS)
		fail("the limit is not below the communicators", (int)most.rlim_cur);
	n = (int)most.rlim_cur * 2 / 5;
	for (i = 0; i < n; i++)
		if (!fopen("/dev/null", "r"))
			fail("no file", i);
}

int main(int argc, char **argv)
{
	static MPI_Comm comms[COMMS];
	MPI_Request request;
	int i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	for (i = 0; i < COMMS; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		MPI_Barrier(comms[i]);
		MPI_Ibarrier(comms[i], &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	open_files();
	for (i = 0; i < COMMS; i++) {
		MPI_Barrier(comms[i]);
		MPI_Comm_free(&comms[i]);
	}
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
