// SPDX-License-Identifier: GPL-2.0
/* The sum of all ranks, as a program of MPI. */
#include <mpi.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	int r, n, one, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	one = r + 1;
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("rank %d of %d: the sum is %d\n", r, n, sum);
	MPI_Finalize();
	return 0;
}
