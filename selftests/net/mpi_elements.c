// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_elements: an operator of the application on elements of several MiB, of which a rank cannot
 * have one for each rank; and elements with gaps that are too large to be packed.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

#define LONGS	(1 << 20)	/* of one element */

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
	long *x = in, *y = inout;
	int i;

	(void)type;
	for (i = 0; i < *len * LONGS; i++)
		y[i] += x[i];
}

static int large_operator(int ranks)
{
	long *v = malloc(LONGS * sizeof(*v));
	MPI_Datatype matrix;
	MPI_Op op;
	int i, wrongs = 0;

	MPI_Type_contiguous(LONGS, MPI_LONG, &matrix);
	MPI_Type_commit(&matrix);
	MPI_Op_create(add, 1, &op);
	for (i = 0; i < LONGS; i++)
		v[i] = i;
	MPI_Allreduce(MPI_IN_PLACE, v, 1, matrix, op, MPI_COMM_WORLD);
	for (i = 0; i < LONGS; i++)
		wrongs += v[i] != (long)ranks * i;
	MPI_Op_free(&op);
	MPI_Type_free(&matrix);
	free(v);
	return wrongs;
}

/* 3 GiB in an element. The buffer is not looked at: the call fails on all ranks. */
static int too_large(void)
{
	MPI_Datatype type;
	MPI_Comm comm;
	char *buf = malloc(1);
	int code;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Type_vector(3, 1 << 28, 1 << 29, MPI_INT, &type);
	MPI_Type_commit(&type);
	code = MPI_Bcast(buf, 1, type, 0, comm);
	MPI_Type_free(&type);
	free(buf);
	return code == MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	int me, ranks, wrongs, all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	wrongs = large_operator(ranks) + too_large();
	MPI_Allreduce(&wrongs, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (!me && !all)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
