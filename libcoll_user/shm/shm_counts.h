/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Collectives in shared memory whose blocks have counts of their own: the v-forms. */
#ifndef LIBCOLL_SHM_COUNTS_H
#define LIBCOLL_SHM_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct coll_shm_slot;
struct shm;
struct shm_move;
struct shm_side;

/* Is @collective, any number, one of these? */
bool shm_has_counts(uint32_t collective);
/* Can @m->cmd, one of these, be done here? Fills in the rest of @m. */
bool shm_counts_setup(const struct shm *s, struct shm_move *m);
/* Write what this rank gives behind its slot. */
void shm_counts_write(const struct shm *s, const struct shm_move *m, struct coll_shm_slot *slot);
/* All slots for @pos are there: does each rank want what the others give? All see the same. */
bool shm_counts_agree(const struct shm *s, const struct shm_move *m, uint64_t pos);
/* Elements of the blocks before block @i. */
uint64_t shm_counts_before(const struct shm_side *side, uint32_t i);
/* Make the result, but that of a reduce_scatter. */
void shm_counts_finish(const struct shm *s, const struct shm_move *m, uint64_t pos);

#endif
