// SPDX-License-Identifier: GPL-2.0
/* A program that has a session, and no MPI_Init(): it has no MPI_COMM_SELF either. */
#include <mpi.h>

#include <stdio.h>

#if MPI_VERSION >= 4

#define MOST	16

static int right(MPI_Comm comm)
{
	int me, n, r, two[2], all[2 * MOST], sum = 0;
	MPI_Request request;
	MPI_Datatype gap;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &n);
	if (n > MOST)
		return 0;
	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gap);
	MPI_Type_commit(&gap);
	two[0] = me;
	MPI_Allgather(two, 1, gap, all, 1, gap, comm);
	for (r = 0; r < n; r++)
		if (all[2 * r] != r)
			return 0;
	MPI_Type_free(&gap);
	MPI_Allreduce_init(&me, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Request_free(&request);
	return sum == n * (n - 1) / 2;
}

int main(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int me, good;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "coll", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	MPI_Comm_rank(comm, &me);
	good = right(comm);
	if (good && !me)
		printf("right\n");
	MPI_Comm_free(&comm);
	MPI_Session_finalize(&session);
	return !good;
}

#else

int main(void)
{
	printf("no sessions\n");
	return 1;
}

#endif
