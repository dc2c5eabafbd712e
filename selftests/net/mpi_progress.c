// SPDX-License-Identifier: GPL-2.0
/*
 * mpi_progress queued|order|persistent: collectives that do not block must end while this rank is
 * in another function of MPI. Two ranks of one node. Rank 0 begins a collective and receives a
 * message. Rank 1 waits for the collective before it sends the message.
 *
 * queued: a small collective, and a large one behind it. Rank 1 begins both later than rank 0.
 *
 * order: a collective whose blocks have another order on rank 1, which only the kernel can do.
 *
 * persistent: the same by a persistent request.
 */
#include <mpi.h>
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define INIT(name)	MPIX_##name##_init
#else
#define INIT(name)	MPI_##name##_init
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD	MPI_COMM_WORLD
#define LARGE	(1 << 20)
#define ROUNDS	3

static int me;

static void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", me, what);
	MPI_Abort(WORLD, 1);
}

/* Rank 0 receives before it waits for its requests. */
static void end(int n, MPI_Request *requests)
{
	MPI_Status statuses[2];
	int x = 0;

	if (!me)
		MPI_Recv(&x, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
	MPI_Waitall(n, requests, statuses);
	if (me)
		MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
}

/* Rank 0 has begun before rank 1 does. */
static void come_late(void)
{
	MPI_Barrier(WORLD);
	if (me)
		usleep(300000);
}

static void queued(void)
{
	static int small[64], large[LARGE];
	MPI_Request requests[2];
	int i;

	for (i = 0; i < LARGE; i++)
		large[i] = small[i % 64] = me + 1;
	come_late();
	MPI_Iallreduce(MPI_IN_PLACE, small, 64, MPI_INT, MPI_SUM, WORLD, &requests[0]);
	MPI_Iallreduce(MPI_IN_PLACE, large, LARGE, MPI_INT, MPI_SUM, WORLD, &requests[1]);
	end(2, requests);
	if (small[63] != 3 || large[0] != 3 || large[LARGE - 1] != 3)
		fail("a sum is wrong");
}

static const int counts[2] = { 2, 2 };
static int displs[2], mine[2], all[4];

static void set_blocks(int round)
{
	/* Rank 0 has the blocks in the order of ranks. */
	displs[0] = me ? 2 : 0;
	displs[1] = me ? 0 : 2;
	mine[0] = mine[1] = 10 * round + me;
	memset(all, 0xff, sizeof(all));
}

static void check_blocks(int round)
{
	int r;

	for (r = 0; r < 2; r++)
		if (all[displs[r]] != 10 * round + r || all[displs[r] + 1] != 10 * round + r)
			fail("a block is wrong");
}

static void order(int round)
{
	MPI_Request request;

	set_blocks(round);
	come_late();
	MPI_Iallgatherv(mine, 2, MPI_INT, all, counts, displs, MPI_INT, WORLD, &request);
	end(1, &request);
	check_blocks(round);
}

static void persistent(void)
{
	MPI_Request request, copy;
	int round;

	set_blocks(0);
	INIT(Allgatherv)(mine, 2, MPI_INT, all, counts, displs, MPI_INT, WORLD, MPI_INFO_NULL,
			 &request);
	for (round = 0; round < ROUNDS; round++) {
		set_blocks(round);
		come_late();
		MPI_Start(&request);
		copy = request;
		end(1, &copy);
		check_blocks(round);
	}
	MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
	int size, round;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &me);
	MPI_Comm_size(WORLD, &size);
	if (argc < 2 || size != 2)
		fail("usage");
	for (round = 0; round < ROUNDS; round++) {
		if (!strcmp(argv[1], "queued"))
			queued();
		else if (!strcmp(argv[1], "order"))
			order(round);
	}
	if (!strcmp(argv[1], "persistent"))
		persistent();
	MPI_Barrier(WORLD);
	if (!me)
		printf("right\n");
	MPI_Finalize();
	return 0;
}
