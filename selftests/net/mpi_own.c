// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_own: a rank gives two lengths for its own block. The call fails there, and touches nothing
 * beyond the arrays. The other ranks come out of it.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

#define HAS	10	/* elements that the array is said to have */
#define MOVED	1000	/* elements of the block */
#define RANKS	2

static int wrongs, me;
static int in[RANKS * MOVED], out[RANKS * MOVED];

static MPI_Comm fresh(void)
{
	MPI_Comm comm;

	memset(out, 0x55, sizeof(out));
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	return comm;
}

/* @wrong: on this rank the arguments are wrong; @from: from here on @out is as it was */
static void report(const char *what, int wrong, int code, int from)
{
	int i;

	for (i = from; i < RANKS * MOVED && out[i] == 0x55555555; i++)
		;
	if ((!wrong || code != MPI_SUCCESS) && i == RANKS * MOVED)
		return;
	fprintf(stderr, "rank %d: %s: code %d, element %d has changed\n", me, what, code, i);
	wrongs++;
}

int main(int argc, char **argv)
{
	int large[RANKS] = { MOVED, 1 }, displs[RANKS] = { 0, MOVED };
	int all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	report("Scatterv", !me, MPI_Scatterv(in, large, displs, MPI_INT, out, me ? 1 : HAS,
					     MPI_INT, 0, fresh()), HAS);
	/* Rank 1 has as much as rank 0 expects of it. */
	report("Gatherv", !me, MPI_Gatherv(in, me ? 1 : HAS, MPI_INT, out, large, displs,
					   MPI_INT, 0, fresh()), RANKS * MOVED);
	report("Allgatherv", !me, MPI_Allgatherv(in, me ? 1 : HAS, MPI_INT, out, large, displs,
						 MPI_INT, fresh()), RANKS * MOVED);
	report("Scatter", !me, MPI_Scatter(in, MOVED, MPI_INT, out, me ? MOVED : HAS, MPI_INT, 0,
					   fresh()), me ? MOVED : HAS);
	report("Gather", !me, MPI_Gather(in, MOVED, MPI_INT, out, HAS, MPI_INT, 0, fresh()),
	       RANKS * HAS);
	report("Allgather", 1, MPI_Allgather(in, MOVED, MPI_INT, out, HAS, MPI_INT, fresh()),
	       RANKS * HAS);
	report("Alltoall", 1, MPI_Alltoall(in, HAS, MPI_INT, out, MOVED, MPI_INT, fresh()),
	       RANKS * MOVED);
	MPI_Allreduce(&wrongs, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!me && !all)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
