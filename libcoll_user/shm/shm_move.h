/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The data of each collective in shared memory: inputs in, results out. */
#ifndef LIBCOLL_SHM_MOVE_H
#define LIBCOLL_SHM_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coll/coll.h>

#include "shm_copy.h"

struct shm;
struct shm_fold;

/**
 * struct shm_side - blocks with counts of their own, in a vector; all in elements
 * @counts: of each rank; NULL: this side is one block
 * @displs: where they begin; NULL: one behind the other
 * @all: sum of @counts
 * @end: where the last one ends
 */
struct shm_side {
	const uint64_t *counts, *displs;
	uint64_t all, end;
};

/**
 * struct shm_move - what an op moves
 * @cmd: the command
 * @fold: its operator, if it reduces
 * @limit: bytes of its input at most
 * @in: input of this rank; NULL: it has none
 * @in_bytes: its length, gaps between blocks included
 * @in_parts: other ranks may copy parts of it while it is written
 * @own_at: where the part of it begins that only this rank reads, from its own memory
 * @own_bytes: length of that part; 0: there is none
 * @most: length of the longest input of all ranks, without gaps; for a v-form, of this rank
 * @out: where its result goes; NULL: it has none
 * @out_bytes: its length, gaps between blocks included
 * @copy: how the result is copied, if it is a copy
 * @elem: bytes of an element
 * @unit: bytes of @cmd->count elements
 * @kind: second word of the slot: collective, operator, type, flags, root
 * @count: the count in the slot
 * @counts: it is a v-form
 * @own_count: each rank has its own count in its slot
 * @head: v-forms: numbers that go before the data
 * @nr_head: how many
 * @room: v-forms: bytes from one block to the next, in a slot; 0: there is no gap
 * @give: v-forms: blocks of the input
 * @get: v-forms: blocks of the output
 */
struct shm_move {
	const struct coll_cmd *cmd;
	const struct shm_fold *fold;
	size_t limit;
	const void *in;
	size_t in_bytes;
	bool in_parts;
	size_t own_at, own_bytes;
	size_t most;
	void *out;
	size_t out_bytes;
	struct shm_copy copy;
	size_t elem;
	size_t unit;
	uint64_t kind, count;
	bool counts, own_count;
	const uint64_t *head;
	uint32_t nr_head;
	size_t room;
	struct shm_side give, get;
};

/*
 * Can @cmd be done in shared memory? Fills in @m. @fold: as shm_fold_setup() wants it; @m refers to
 * it, and to @cmd.
 */
bool shm_move_setup(const struct shm *s, const struct coll_cmd *cmd, struct shm_fold *fold,
		    struct shm_move *m);
/* Bytes of an input at most, for a collective. */
size_t shm_move_limit(const struct shm *s, uint32_t collective);
/* Write the input of this rank to its slot for @pos, behind the slot's head. */
void shm_move_write(const struct shm *s, const struct shm_move *m, uint64_t pos);
/* All ranks have written their slots for @pos, and the heads match: do the own counts agree? */
bool shm_move_agrees(const struct shm *s, const struct shm_move *m, uint64_t pos);
/* All ranks have written their slots for @pos, and agree: make the result. @copied is there. */
void shm_move_finish(const struct shm *s, const struct shm_move *m, uint64_t pos,
		     struct shm_copied *copied);

#endif
