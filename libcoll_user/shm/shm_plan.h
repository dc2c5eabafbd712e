/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Programs repeat a few commands. These are kept, with what follows from them. */
#ifndef LIBCOLL_SHM_PLAN_H
#define LIBCOLL_SHM_PLAN_H

#include <coll/coll.h>

struct shm;
struct shm_move;

/**
 * shm_plan() - what to move for a blocking command
 * @s: shared memory; it is the caller's turn
 * @cmd: any command but a message
 *
 * Return: valid until the next call; NULL: the command goes to the kernel.
 */
const struct shm_move *shm_plan(struct shm *s, const struct coll_cmd *cmd);

#endif
