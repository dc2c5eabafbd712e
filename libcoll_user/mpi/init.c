// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The beginning and the end of MPI. */
#include <mpi.h>

#include "comms.h"
#include "count.h"
#include "drive.h"
#include "persistent.h"

/*
 * The communicator of all ranks is made at once, so that nonblocking calls can use it from the
 * first one on. Other communicators are made when they are needed.
 */
int MPI_Init(int *argc, char ***argv)
{
	int ret = PMPI_Init(argc, argv);

	if (ret == MPI_SUCCESS)
		comms_get(MPI_COMM_WORLD, true);
	return ret;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int ret = PMPI_Init_thread(argc, argv, required, provided);

	if (ret == MPI_SUCCESS)
		comms_get(MPI_COMM_WORLD, true);
	return ret;
}

int MPI_Finalize(void)
{
	int rank = 0;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	count_print(rank);
	persistent_finish();
	/* A rank that leaves first must not hurt another one in its last collective. */
	PMPI_Barrier(MPI_COMM_WORLD);
	comms_end_all();
	persistent_end();
	drive_end();
	return PMPI_Finalize();
}
