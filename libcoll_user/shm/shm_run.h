/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A collective in shared memory, step by step. */
#ifndef LIBCOLL_SHM_RUN_H
#define LIBCOLL_SHM_RUN_H

#include <stdbool.h>

#include <coll/coll.h>

/**
 * shm_submit() - do a collective in shared memory, if that can be
 * @comm: with such memory
 * @cmd: any command
 * @res: result: 0 or -errno
 *
 * Return: false: it has not been done, and is for the kernel.
 */
bool shm_submit(coll_comm_t *comm, const struct coll_cmd *cmd, int *res);

#endif
