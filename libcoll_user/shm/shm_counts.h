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

/* Is @collective, which may be any number, a v-form? */
bool shm_has_counts(uint32_t collective);
/* Can @m->cmd, a v-form, be done in shared memory? Fills in the rest of @m. */
bool shm_counts_setup(const struct shm *s, struct shm_move *m);
/* Write the input of this rank behind the head of its slot. */
void shm_counts_write(const struct shm *s, const struct shm_move *m, struct coll_shm_slot *slot);
/* All slots for @pos are written: do all counts agree? The same answer on all ranks. */
bool shm_counts_agree(const struct shm *s, const struct shm_move *m, uint64_t pos);
/* Elements of the blocks before block @i. */
uint64_t shm_counts_before(const struct shm_side *side, uint32_t i);
/* Make the result, except that of a reduce_scatter. */
void shm_counts_finish(const struct shm *s, const struct shm_move *m, uint64_t pos);

#endif
