// SPDX-License-Identifier: GPL-2.0
/* usage: mpirun -n RANKS mpi_allreduce TASK...; built with the mpicc of each MPI. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>

#include "peer.h"

static MPI_Request requests[PEER_BURST];

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(float *in, float *out, size_t count)
{
	MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void start(int i, float *in, float *out, size_t count)
{
	MPI_Iallreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
		       &requests[i]);
}

static int test(int i)
{
	int done;

	MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
	return done;
}

static void finish(int i)
{
	MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void collect(double *v, int n, int largest)
{
	MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, largest ? MPI_MAX : MPI_SUM,
		      MPI_COMM_WORLD);
}

/* MPI says so only later, when connections are being made. */
static int rank_by_launcher(void)
{
	const char *s = getenv("OMPI_COMM_WORLD_RANK");

	if (!s)
		s = getenv("PMI_RANK");
	return s ? atoi(s) : 0;
}

static void leave(int sig)
{
	(void)sig;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct peer p = {
		.barrier = barrier, .allreduce = allreduce, .start = start, .test = test,
		.wait = finish, .collect = collect,
	};

	peer_enter_node(rank_by_launcher());
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
	peer_run(&p, argc - 1, argv + 1);
	/*
	 * All has been printed. MPICH over TCP waits now and then forever for a rank that
	 * has finished already.
	 */
	MPI_Barrier(MPI_COMM_WORLD);
	signal(SIGALRM, leave);
	alarm(5);
	MPI_Finalize();
	return 0;
}
