// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The beginning and the end of MPI. */
#include <mpi.h>

#include <stdbool.h>

#include "comms.h"
#include "count.h"
#include "drive.h"
#include "persistent.h"

static bool ends_with_self;

static void end(void)
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
}

static int self_ends(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval, (void)value, (void)extra;
	end();
	return MPI_SUCCESS;
}

/*
 * MPI_Finalize() first frees MPI_COMM_SELF. That calls functions of the application, if it has set
 * attributes: they may still use all of MPI. Attributes end in the reverse order, so an attribute
 * that is set here, before the application can set one, ends last.
 */
static void end_with_self(void)
{
	int key;

	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, self_ends, &key, NULL))
		return;
	ends_with_self = !PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
	PMPI_Comm_free_keyval(&key);
}

/*
 * The communicator of all ranks is made at once, so that nonblocking calls can use it from the
 * first one on. Other communicators are made when they are needed.
 */
static void begin(void)
{
	end_with_self();
	comms_get(MPI_COMM_WORLD, true);
}

int MPI_Init(int *argc, char ***argv)
{
	int ret = PMPI_Init(argc, argv);

	if (ret == MPI_SUCCESS)
		begin();
	return ret;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int ret = PMPI_Init_thread(argc, argv, required, provided);

	if (ret == MPI_SUCCESS)
		begin();
	return ret;
}

int MPI_Finalize(void)
{
	if (!ends_with_self)
		end();
	return PMPI_Finalize();
}
