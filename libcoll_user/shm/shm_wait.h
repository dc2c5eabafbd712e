/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Waiting for the other ranks, in a collective in shared memory. */
#ifndef LIBCOLL_SHM_WAIT_H
#define LIBCOLL_SHM_WAIT_H

#include <stdint.h>

#include <coll/coll.h>

#include "shm_op.h"

struct shm_move;

/*
 * Look at the op, and while it is SHM_LATE stay awake for as long as that pays: poll, and copy what
 * other ranks have written so far; or let other ranks of the node have the CPU if there are more
 * ranks than CPUs.
 */
enum shm_outcome shm_wait_awake(const struct shm *s, struct shm_op *o, const struct shm_move *m);

/**
 * shm_wait_asleep() - one sleep, until the op can go on
 * @comm: communicator
 * @o: op
 * @ns: how long at most; 0: no limit
 * @flags: COLL_SHM_WAIT_*. Without COLL_SHM_WAIT_LOOK the communicator fails after @ns
 *
 * Return: 0, also if the op cannot go on yet; -errno of COLL_IOC_SHM_WAIT.
 */
int shm_wait_asleep(coll_comm_t *comm, struct shm_op *o, uint64_t ns, uint64_t flags);

/* Tell the others, before the caller sleeps in the kernel, and after it. Has a full barrier. */
void shm_wait_announce(const struct shm *s, const struct shm_op *o);
void shm_wait_end(const struct shm *s, const struct shm_op *o);

#endif
