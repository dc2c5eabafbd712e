/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A collective in shared memory, step by step. */
#ifndef LIBCOLL_SHM_RUN_H
#define LIBCOLL_SHM_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <coll/coll.h>

/**
 * shm_submit() - do a collective in shared memory, if possible
 * @comm: with such memory
 * @cmd: any command
 * @res: result: 0 or -errno; -EDEADLK: the calling thread is in another collective
 * @spent: nanoseconds of the command's time that have passed, if it is for the kernel
 *
 * Waits for the collectives of other threads. Return: false: it has not been done, and is for the
 * kernel; shm_given() is to follow.
 */
bool shm_submit(coll_comm_t *comm, const struct coll_cmd *cmd, int *res, uint64_t *spent);

/* The kernel has ended the command, or has refused it. */
void shm_given(coll_comm_t *comm);

#endif
