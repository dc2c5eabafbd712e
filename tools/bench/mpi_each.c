// SPDX-License-Identifier: GPL-2.0
/* usage: mpirun -n RANKS mpi_each TASK...: every collective; built with the mpicc of each MPI */
#define _GNU_SOURCE
#include <mpi.h>

#include "each.h"

#define WORLD	MPI_COMM_WORLD

static int counts[EACH_RANKS], displs[EACH_RANKS];

static void run_reducing(enum each_what what, float *in, float *out, int n)
{
	switch (what) {
	case EACH_REDUCE:
		MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, 0, WORLD);
		break;
	case EACH_ALLREDUCE:
		MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, WORLD);
		break;
	case EACH_REDUCE_SCATTER:
		MPI_Reduce_scatter(in, out, counts, MPI_FLOAT, MPI_SUM, WORLD);
		break;
	case EACH_REDUCE_SCATTER_BLOCK:
		MPI_Reduce_scatter_block(in, out, n, MPI_FLOAT, MPI_SUM, WORLD);
		break;
	case EACH_SCAN:
		MPI_Scan(in, out, n, MPI_FLOAT, MPI_SUM, WORLD);
		break;
	default:
		MPI_Exscan(in, out, n, MPI_FLOAT, MPI_SUM, WORLD);
	}
}

static void run_moving(enum each_what what, float *in, float *out, int n)
{
	switch (what) {
	case EACH_BARRIER:
		MPI_Barrier(WORLD);
		break;
	case EACH_BROADCAST:
		MPI_Bcast(out, n, MPI_FLOAT, 0, WORLD);
		break;
	case EACH_ALLGATHER:
		MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, WORLD);
		break;
	case EACH_ALLGATHERV:
		MPI_Allgatherv(in, n, MPI_FLOAT, out, counts, displs, MPI_FLOAT, WORLD);
		break;
	case EACH_GATHER:
		MPI_Gather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, WORLD);
		break;
	case EACH_GATHERV:
		MPI_Gatherv(in, n, MPI_FLOAT, out, counts, displs, MPI_FLOAT, 0, WORLD);
		break;
	case EACH_SCATTER:
		MPI_Scatter(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, WORLD);
		break;
	case EACH_SCATTERV:
		MPI_Scatterv(in, counts, displs, MPI_FLOAT, out, n, MPI_FLOAT, 0, WORLD);
		break;
	case EACH_ALLTOALL:
		MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, WORLD);
		break;
	default:
		MPI_Alltoallv(in, counts, displs, MPI_FLOAT, out, counts, displs, MPI_FLOAT, WORLD);
	}
}

static void set_counts(size_t n)
{
	int i;

	for (i = 0; i < EACH_RANKS; i++) {
		counts[i] = (int)n;
		displs[i] = i * (int)n;
	}
}

static void run(enum each_what what, float *in, float *out, size_t n)
{
	if (what == EACH_REDUCE || what == EACH_ALLREDUCE || what == EACH_REDUCE_SCATTER ||
	    what == EACH_REDUCE_SCATTER_BLOCK || what == EACH_SCAN || what == EACH_EXSCAN)
		run_reducing(what, in, out, (int)n);
	else
		run_moving(what, in, out, (int)n);
}

static void collect(double *v, int n, int largest)
{
	MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, largest ? MPI_MAX : MPI_SUM, WORLD);
}

int main(int argc, char **argv)
{
	struct each e = { .set_counts = set_counts, .run = run, .collect = collect };

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &e.rank);
	MPI_Comm_size(WORLD, &e.ranks);
	if (e.ranks > EACH_RANKS)
		MPI_Abort(WORLD, 2);
	each_run(&e, argc - 1, argv + 1);
	MPI_Finalize();
	return 0;
}
