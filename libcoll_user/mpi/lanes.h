/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Communicators of coll for persistent requests.
 *
 * coll matches the commands of one communicator by their order. Persistent requests match by the
 * order of their init calls, and each rank may start them in another order. So a request has a
 * communicator to itself, a lane, as long as it lives. The next request may have the lane
 * afterwards.
 */
#ifndef LIBCOLL_MPI_LANES_H
#define LIBCOLL_MPI_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

/* The most lanes of one communicator of MPI. A word has a bit for each lane, and LANES_ROOM. */
#define LANES_MOST	63

/**
 * struct lanes - lanes of one communicator of MPI
 * @colls: communicators of the lanes, @nr of them
 * @nr: the same on all ranks
 * @idle: by bit: on this rank no request has the lane
 */
struct lanes {
	coll_comm_t *colls[LANES_MOST];
	uint32_t nr;
	_Atomic uint64_t idle;
};

/**
 * lanes_take() - choose a lane, or make one
 * @coll: of the same ranks; has numbered collectives
 * @able: this rank can have one more request
 * @lane: result: number of the lane; -1: a rank cannot have one, or there are too many
 *
 * A collective of @coll, with the same result on all ranks. Return: 0, or a negative errno: @coll
 * has failed.
 */
int lanes_take(struct lanes *l, coll_comm_t *coll, bool able, int *lane);

/** lanes_give() - no request of this rank has the lane any more, and nothing is under way on it */
void lanes_give(struct lanes *l, int lane);

/** lanes_end() - end all of them */
void lanes_end(struct lanes *l);

#endif
