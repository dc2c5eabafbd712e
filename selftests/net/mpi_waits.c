// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_waits: a program with an MPI_Wait() and an MPI_Start() of its own, as some tools have. They
 * call PMPI_Wait() and PMPI_Start(), and the library's functions are not called.
 */
#include <mpi.h>

#include <stdio.h>

static int waits, starts;

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	waits++;
	return PMPI_Wait(request, status);
}

int MPI_Start(MPI_Request *request)
{
	starts++;
	return PMPI_Start(request);
}

#define COUNT	100000

int main(int argc, char **argv)
{
	static int in[COUNT], out[COUNT];
	int me, ranks, wrongs = 0, all, i, turn;
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (i = 0; i < COUNT; i++)
		in[i] = me + i;
	MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < COUNT; i++)
		wrongs += out[i] != ranks * (ranks - 1) / 2 + ranks * i;
#if MPI_VERSION >= 4
	MPI_Allreduce_init(in, out, COUNT, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
			   &request);
	for (turn = 0; turn < 3; turn++) {
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (i = 0; i < COUNT; i++)
			wrongs += out[i] != ranks - 1 + i;
	}
	MPI_Request_free(&request);
	wrongs += waits != 4 || starts != 3;
#else
	(void)turn;
	wrongs += waits != 1 || starts;
#endif
	MPI_Allreduce(&wrongs, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!me && !all)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
