// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_wrong: calls on a communicator that has been freed. The MPI reports them, and the program goes
 * on. Only for an MPI that knows handles that are not valid.
 */
#include <mpi.h>

#include <stdio.h>

static int wrongs, me;

static void report(const char *what, int code)
{
	int class = MPI_SUCCESS;

	if (code != MPI_SUCCESS)
		MPI_Error_class(code, &class);
	if (class == MPI_ERR_COMM)
		return;
	fprintf(stderr, "rank %d: %s: class %d\n", me, what, class);
	wrongs++;
}

int main(int argc, char **argv)
{
	MPI_Comm comm, freed;
	MPI_Request req;
	int in[8] = { 0 }, out[8], nr, all, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &nr);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Allgather(&me, 1, MPI_INT, out, 1, MPI_INT, comm);
	freed = comm;
	MPI_Comm_free(&comm);
	for (i = 0; i < 2; i++) {
		report("Allgather", MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, freed));
		report("Alltoall", MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, freed));
		report("Gather", MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, freed));
		report("Reduce_scatter_block",
		       MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, freed));
		report("Allreduce", MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, freed));
		report("Barrier", MPI_Barrier(freed));
		report("Iallgather", MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, freed, &req));
	}
	MPI_Allreduce(&wrongs, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!me && !all)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
