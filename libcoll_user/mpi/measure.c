// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>

#include "base/relax.h"
#include "measure.h"

/* Runs of each size, after one that does not count; the shortest of them counts. */
#define RUNS		5
/* After this time no larger size is timed. */
#define ENOUGH_NS	50000000
/* The limit if coll is slower with all sizes */
#define NEVER_WON	(1 << 20)

static const uint64_t sizes[] = { 8, 1024, 16384, 262144 };

#define NR_SIZES	(sizeof(sizes) / sizeof(sizes[0]))
#define LARGEST		262144

/**
 * struct measured - shortest times of one size
 * @by_coll: nanoseconds; of the slowest rank in the end
 * @by_mpi: the same for the MPI underneath
 * @failed: not zero: coll could not do it
 */
struct measured {
	uint64_t by_coll;
	uint64_t by_mpi;
	uint64_t failed;
};

static void keep_least(uint64_t *least, uint64_t start)
{
	uint64_t took = relax_now_ns() - start;

	if (took < *least)
		*least = took;
}

/* The op may have been refused on this rank alone: abort, so that the others do not wait for it. */
static uint64_t give_up(coll_comm_t *coll)
{
	coll_abort(coll, ECANCELED);
	return 1;
}

/* Run both alternately, so that other load of the hosts slows both. */
static void time_one(MPI_Comm comm, coll_comm_t *coll, const float *from, float *to, int n,
		     struct measured *m)
{
	uint64_t start;
	int i;

	*m = (struct measured){ UINT64_MAX, UINT64_MAX, 0 };
	for (i = 0; i <= RUNS; i++) {
		start = relax_now_ns();
		if (coll_allreduce(coll, from, to, (uint64_t)n, COLL_F32, COLL_OP_SUM))
			m->failed = give_up(coll);
		if (i)
			keep_least(&m->by_coll, start);
		start = relax_now_ns();
		PMPI_Allreduce(from, to, n, MPI_FLOAT, MPI_SUM, comm);
		if (i)
			keep_least(&m->by_mpi, start);
	}
}

/* The times of the slowest rank count. Return: do all ranks go on? */
static int agree(MPI_Comm comm, uint64_t start, struct measured *m)
{
	uint64_t mine[4] = { m->by_coll, m->by_mpi, m->failed, relax_now_ns() - start }, most[4];

	if (PMPI_Allreduce(mine, most, 4, MPI_UINT64_T, MPI_MAX, comm))
		return 0;
	*m = (struct measured){ most[0], most[1], most[2] };
	return most[3] < ENOUGH_NS && !most[2];
}

bool measure_least(MPI_Comm comm, coll_comm_t *coll, uint64_t *least)
{
	uint64_t start = relax_now_ns();
	float *from = calloc(2, LARGEST);
	struct measured m = { 0 };
	int room = from != NULL, all_have = 0, go_on = 1;
	size_t i;

	*least = NEVER_WON;
	PMPI_Allreduce(&room, &all_have, 1, MPI_INT, MPI_MIN, comm);
	for (i = 0; i < NR_SIZES && all_have && go_on; i++) {
		time_one(comm, coll, from, from + LARGEST / sizeof(*from),
			 (int)(sizes[i] / sizeof(*from)), &m);
		go_on = agree(comm, start, &m);
		if (m.failed || m.by_coll > m.by_mpi)
			*least = NEVER_WON;
		else if (*least == NEVER_WON)
			*least = i ? sizes[i] : 0;
	}
	free(from);
	return !m.failed;
}
