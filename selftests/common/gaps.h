/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Vectors of blocks with gaps between them, of ranks that all live in this process. Each block
 * has a slot of its own and uses its first pages only. The other pages of the slot are a gap.
 */
#ifndef COLL_SELFTESTS_GAPS_H
#define COLL_SELFTESTS_GAPS_H

#include <stddef.h>
#include <stdint.h>

#include "raw.h"

#define GAPS_MAX	4		/* ranks */
#define GAPS_PAGE	4096UL
#define GAPS_SLOT	(16 * GAPS_PAGE)
#define GAPS_USED	(7 * GAPS_PAGE)
#define GAPS_SLOTS	(2 * GAPS_MAX)
#define GAPS_BYTES	(GAPS_SLOTS * GAPS_SLOT)
/* Where in its slot a block begins. */
#define GAPS_HEAD	52UL

/* The collectives whose blocks have displacements. */
#define GAPS_KINDS	4
extern const uint32_t gaps_kinds[GAPS_KINDS];

/**
 * struct gaps - a communicator, and memory with gaps for each rank
 * @c: the communicator
 * @mem: GAPS_BYTES of each rank, for its input and its output
 * @before: displacements count from that many elements before @mem
 * @counts: of each rank: elements of the blocks
 * @displs: of each rank: displacements of the blocks
 * @cmds: made by gaps_prepare()
 * @round: number of its calls; inputs depend on it
 */
struct gaps {
	struct raw_comm c;
	char *mem[GAPS_MAX];
	uint64_t before;
	uint64_t counts[GAPS_MAX][2 * GAPS_MAX];
	uint64_t displs[GAPS_MAX][2 * GAPS_MAX];
	struct coll_cmd cmds[GAPS_MAX];
	uint32_t round;
};

/* Return: 0 or -errno. */
int gaps_start(struct gaps *g, uint32_t size, uint32_t nodes);
void gaps_stop(struct gaps *g);
/* Map GAPS_BYTES; at @at, if it is not NULL. Return: as mmap(). */
char *gaps_memory(void *at);

/* Slot of a block of the input: the even ones. */
uint32_t gaps_in_slot(uint32_t i);
/* Slot of a block of the output: the odd ones, in descending order. */
uint32_t gaps_out_slot(struct gaps *g, uint32_t i);
/* Address of the block in a slot. */
char *gaps_slot(struct gaps *g, uint32_t rank, uint32_t slot);
/* Displacement of the block in a slot, in elements. */
uint64_t gaps_displ(struct gaps *g, uint32_t slot);

/* Make the commands and the inputs of all ranks. Each rank has both vectors in one array. */
void gaps_prepare(struct gaps *g, uint32_t kind);
/* Count the elements at @at that differ from the block of @from for @to. */
uint64_t gaps_wrong_block(const struct gaps *g, const char *at, uint32_t from, uint32_t to);
/* Count the wrong elements in the output of rank @r. */
uint64_t gaps_wrong_output(struct gaps *g, uint32_t kind, uint32_t r);
/* Run the prepared commands. Return: 0, the first error, or the number of wrong elements. */
int64_t gaps_run(struct gaps *g, uint32_t kind);
/* Prepare and run each of gaps_kinds. Return: as gaps_run(). */
int64_t gaps_each_kind(struct gaps *g);

/* Call @change with the address and the length of each gap. Return: all its results, ORed. */
int gaps_each(struct gaps *g, int (*change)(char *at, size_t len));
int gap_unmap(char *at, size_t len);
int gap_forbid(char *at, size_t len);
int gap_read_only(char *at, size_t len);
/* madvise(MADV_DONTNEED) */
int gap_throw_away(char *at, size_t len);
int gap_mark(char *at, size_t len);
/* Return: 0 if the gap is as gap_mark() left it. */
int gap_is_hurt(char *at, size_t len);
/* Return: 1 if a page of the gap is in memory, 0 if none is. */
int gap_is_there(char *at, size_t len);

#endif /* COLL_SELFTESTS_GAPS_H */
