/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Inputs are copied to slots, and some results are copies of what is in slots.
 *
 * Two copies one after the other take twice as long as one. So a rank that writes a large input
 * tells the others how far it is, and these copy what is there while they wait.
 */
#ifndef LIBCOLL_SHM_COPY_H
#define LIBCOLL_SHM_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shm;
struct shm_move;

/**
 * struct shm_copy - a result that is a copy: blocks of the same length, from successive ranks
 * @first: rank that the first block comes from
 * @blocks: number of blocks; 0: the result is no copy
 * @offset: where a block begins, in the input of its rank
 * @early: blocks may be copied while a rank still writes
 */
struct shm_copy {
	uint32_t first, blocks;
	size_t offset;
	bool early;
};

/**
 * struct shm_copied - how much of a result is there
 * @block: blocks below this number
 * @bytes: and so much of this block
 */
struct shm_copied {
	uint32_t block;
	size_t bytes;
};

/**
 * shm_copy_in() - write the input of this rank to its slot, except the part that no other rank reads
 * @s: shared memory
 * @m: what to move; no v-form
 * @pos: position of the op
 */
void shm_copy_in(const struct shm *s, const struct shm_move *m, uint64_t pos);

/* The input of @rank: in its slot, or in this rank's own memory. */
const unsigned char *shm_copy_input(const struct shm *s, const struct shm_move *m, uint32_t rank,
				    uint64_t pos);

/**
 * shm_copy_block() - copy the next part of the result
 * @s: shared memory
 * @m: what to move; @at->block is less than its number of blocks
 * @pos: position of the op
 * @at: how much has been copied; updated
 * @readable: so many bytes of the input that the block is in may be read; any number
 *
 * Return: the block is complete.
 */
bool shm_copy_block(const struct shm *s, const struct shm_move *m, uint64_t pos,
		    struct shm_copied *at, size_t readable);

/* All inputs may be read: copy the rest of the result. */
void shm_copy_rest(const struct shm *s, const struct shm_move *m, uint64_t pos,
		   struct shm_copied *at);

#endif
