// SPDX-License-Identifier: GPL-2.0
/* usage: mpirun -n RANKS mpi_allreduce PLAN...; built with the mpicc of each MPI. */
#include <mpi.h>

#include "bench.h"

static float *in, *out;

static void run(const struct bench_size *z, double *times, int rank, int ranks)
{
	size_t count = z->bytes / sizeof(*in);
	double *worst = rank ? NULL : times;
	size_t wrong;
	double begin;
	int i;

	for (i = -z->warmup; i < z->iters; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		begin = bench_now_us();
		MPI_Allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		if (i >= 0)
			times[i] = bench_now_us() - begin;
	}
	MPI_Reduce(rank ? times : MPI_IN_PLACE, worst, z->iters, MPI_DOUBLE, MPI_MAX, 0,
		   MPI_COMM_WORLD);
	wrong = bench_wrong(out, count, ranks);
	if (wrong) {
		fprintf(stderr, "rank %d: %zu wrong of %zu\n", rank, wrong, count);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (!rank)
		bench_row("ROW", ranks, z->bytes, bench_median(times, z->iters));
}

int main(int argc, char **argv)
{
	struct bench_size most, z;
	int rank, ranks, i;
	double *times;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	most = bench_largest(argc - 1, argv + 1);
	in = bench_buffer(most.bytes);
	out = bench_buffer(most.bytes);
	times = bench_alloc((size_t)most.iters, sizeof(*times));
	bench_fill(in, most.bytes / sizeof(*in), rank);
	for (i = 1; i < argc; i++) {
		bench_parse(argv[i], &z);
		run(&z, times, rank, ranks);
	}
	free(times);
	MPI_Finalize();
	return 0;
}
