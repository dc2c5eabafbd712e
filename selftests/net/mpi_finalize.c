// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_finalize: a function that MPI_Finalize() calls, because it frees an attribute of MPI_COMM_SELF,
 * starts a persistent collective, and does a blocking one.
 */
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define INIT(name)	MPIX_##name##_init
#else
#define INIT(name)	MPI_##name##_init
#endif

#include <stdio.h>

#define WORLD	MPI_COMM_WORLD
#define COUNT	100

static int me, size, from[COUNT], into[COUNT];
static MPI_Request request;

static void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", me, what);
	MPI_Abort(WORLD, 1);
}

static void run(int round)
{
	int i;

	for (i = 0; i < COUNT; i++) {
		from[i] = round + i;
		into[i] = 0;
	}
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < COUNT; i++)
		if (into[i] != size * (round + i))
			fail("a sum is wrong");
}

static int at_end(MPI_Comm comm, int key, void *value, void *extra)
{
	int one = 1, sum = 0;

	(void)comm, (void)key, (void)value, (void)extra;
	run(2);
	MPI_Request_free(&request);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD);
	if (sum != size)
		fail("the last sum is wrong");
	printf("right\n");
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	int key;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &me);
	MPI_Comm_size(WORLD, &size);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	INIT(Allreduce)(from, into, COUNT, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &request);
	run(1);
	MPI_Finalize();
	return 0;
}
