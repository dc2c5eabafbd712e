/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The data of each collective in shared memory: inputs in, results out. */
#ifndef LIBCOLL_SHM_MOVE_H
#define LIBCOLL_SHM_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

struct shm;

/**
 * struct shm_move - what an op moves
 * @cmd: the command
 * @in: what this rank gives; NULL: nothing
 * @in_bytes: its length
 * @most: the largest one of any rank
 * @out: where its result goes; NULL: it has none
 * @out_bytes: its length
 * @elem: bytes of an element
 * @unit: bytes of @cmd->count elements
 */
struct shm_move {
	const struct coll_cmd *cmd;
	const void *in;
	size_t in_bytes;
	size_t most;
	void *out;
	size_t out_bytes;
	size_t elem;
	size_t unit;
};

/* Can @cmd be done here? Fills in @m. */
bool shm_move_setup(struct shm *s, const struct coll_cmd *cmd, struct shm_move *m);
/* All ranks have written their slots for @pos, and agree: make the result. */
void shm_move_finish(const struct shm *s, const struct shm_move *m, uint64_t pos);

#endif
