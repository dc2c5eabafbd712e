/* SPDX-License-Identifier: GPL-2.0 */
/* The collectives that the library does in shared memory. */
#ifndef COLL_SELFTESTS_SHM_KINDS_H
#define COLL_SELFTESTS_SHM_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/coll.h>

static const uint16_t shm_kinds[] = {
	COLL_BARRIER, COLL_BROADCAST, COLL_REDUCE, COLL_ALLREDUCE, COLL_REDUCE_SCATTER_BLOCK,
	COLL_ALLGATHER, COLL_GATHER, COLL_SCATTER, COLL_ALLTOALL, COLL_SCAN, COLL_EXSCAN,
};

#define SHM_NR_KINDS (sizeof(shm_kinds) / sizeof(shm_kinds[0]))

static inline bool shm_reduces(uint16_t what)
{
	return what == COLL_REDUCE || what == COLL_ALLREDUCE || what == COLL_SCAN ||
	       what == COLL_EXSCAN || what == COLL_REDUCE_SCATTER_BLOCK;
}

static inline bool shm_is_rooted(uint16_t what)
{
	return what == COLL_BROADCAST || what == COLL_REDUCE || what == COLL_GATHER ||
	       what == COLL_SCATTER;
}

#endif /* COLL_SELFTESTS_SHM_KINDS_H */
