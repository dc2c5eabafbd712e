/* SPDX-License-Identifier: GPL-2.0 */
/* Many small collectives under way, in two communicators. */
#ifndef COLL_SELFTESTS_SHM_POSTED_H
#define COLL_SELFTESTS_SHM_POSTED_H

#include <stdint.h>

#include <coll/coll.h>

/**
 * shm_posted() - do collectives, and look at the results
 * @comms: two communicators with the same ranks
 * @rounds: how many
 * @lot: state of the random numbers that all ranks draw
 * @own: and of those of this rank
 *
 * Each rank draws which of them are blocking, nonblocking or persistent, which go by the kernel, and
 * when it waits or tests for which. Prints what is wrong. Return: how much that is.
 */
int shm_posted(coll_comm_t *const *comms, uint32_t rounds, uint64_t *lot, uint64_t *own);

#endif /* COLL_SELFTESTS_SHM_POSTED_H */
