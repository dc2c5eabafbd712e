/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Inputs and results of each collective in shared memory, other than the v-forms. */
#ifndef LIBCOLL_SHM_LAYOUT_H
#define LIBCOLL_SHM_LAYOUT_H

#include <stdbool.h>

struct shm;
struct shm_move;

/*
 * Fill in the addresses and lengths of @m, and how its result is copied. @m->cmd, @m->fold and
 * @m->unit are set. Return: false: the collective is unknown.
 */
bool shm_layout(const struct shm *s, struct shm_move *m);

#endif
