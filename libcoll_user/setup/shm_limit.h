/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Up to how many bytes a collective goes through shared memory. */
#ifndef LIBCOLL_SHM_LIMIT_H
#define LIBCOLL_SHM_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

#include "base/deadline.h"
#include "comm/shm.h"

/* Bytes that each rank tells all others while a communicator is made. */
#define SHM_BLOB	(1 + 4 * SHM_KINDS)

/* Bits of the first byte: the rank has its part of the memory, or needs none */
#define SHM_BLOB_PART		1
/* Its node has more ranks than CPUs. */
#define SHM_BLOB_CROWDED	2
/* It offers the limits of another communicator. Matters in the blob of rank 0. */
#define SHM_BLOB_INHERITS	4

/**
 * struct shm_terms - what all ranks have told
 * @all: each rank has its part of the memory
 * @limit: the most bytes of an op, by its kind, as rank 0 wants it; SHM_MEASURE: to be measured.
 *	Either all kinds are measured, or none
 * @crowded: some node has more ranks than CPUs: the limits are measured, and @limit bounds them
 * @inherits: rank 0 has taken the limits of another communicator: nothing is measured
 * @budget_ns: how long it may take to measure one kind; a round that has begun is completed
 */
struct shm_terms {
	bool all;
	bool crowded;
	bool inherits;
	uint32_t limit[SHM_KINDS];
	uint64_t budget_ns;
};

#define SHM_MEASURE	(~0U)

/**
 * shm_offer() - when this rank has joined: ask the kernel for its part of the memory
 * @comm: communicator that is being made
 * @like: a communicator that is settled and has the same ranks, or more; NULL: there is none. If it
 *	has the same number of ranks, its limits are taken, and nothing is measured, unless
 *	COLL_SHM_LIMIT is a number. If both have more ranks than CPUs, and @like has one node, its
 *	limits are taken in any case, and a number is an upper bound
 * @blob: SHM_BLOB bytes to tell the others
 *
 * If there is no memory, that is no error: every op goes through the kernel. Return: 0; -EINVAL:
 * COLL_SHM_LIMIT cannot be understood.
 */
int shm_offer(coll_comm_t *comm, const coll_comm_t *like, uint8_t *blob);

/* Read the blob of rank @rank into @t. Called for rank 0 first, then for all others. */
void shm_hear(struct shm_terms *t, uint32_t rank, const uint8_t *blob);

/**
 * shm_settle() - set the limits, the same on all ranks
 * @t: the same on all ranks
 * @deadline: of each op
 *
 * Called after shm_map(), before the application gets the communicator. Runs ops on it to measure,
 * for a few milliseconds; longer if a node is crowded. Return: 0 or -errno, as an op.
 */
int shm_settle(coll_comm_t *comm, const struct shm_terms *t, struct deadline deadline);

#endif
