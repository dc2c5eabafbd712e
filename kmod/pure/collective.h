/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The buffers of each collective: one table, which the decoder, the planner and the library
 * read.
 */
#ifndef COLL_PURE_COLLECTIVE_H
#define COLL_PURE_COLLECTIVE_H

#include "env.h"

/* The content of a rank's buffer. */
enum coll_part_of {
	COLL_HAS_NONE	= 0,
	COLL_HAS_OWN	= 1,	/* the block of this rank */
	COLL_HAS_ALL	= 2,	/* the whole vector: `count` elements, or all blocks */
};

/* struct coll_kind.flags */
#define COLL_KIND_BLOCKS	(1U << 0)	/* one block of `count` per rank */
#define COLL_KIND_RANKS		(1U << 1)	/* participants are ranks, not nodes */
#define COLL_KIND_ROOTED	(1U << 2)
#define COLL_KIND_REDUCES	(1U << 3)
#define COLL_KIND_COUNTS	(1U << 4)	/* blocks have counts of their own */
#define COLL_KIND_ONE_BUFFER	(1U << 5)	/* broadcast: the output is the input */
/* Only the root, or only the two ranks of a transfer, know the counts. */
#define COLL_KIND_PRIVATE	(1U << 6)
#define COLL_KIND_PACKED	(1U << 7)	/* counts, but no displacements */

/**
 * struct coll_kind - one collective
 * @in: enum coll_part_of: input of a rank
 * @out: output of a rank
 * @root_in: input of the root
 * @root_out: output of the root
 * @flags: COLL_KIND_*
 */
struct coll_kind {
	u8 in;
	u8 out;
	u8 root_in;
	u8 root_out;
	u32 flags;
};

extern const struct coll_kind coll_kinds[COLL_NR_COLLECTIVES];

/**
 * coll_kind_of() - look a collective up
 * @collective: enum coll_collective, any number
 *
 * Return: never NULL; for a number that is no collective: a kind without buffers.
 */
static inline const struct coll_kind *coll_kind_of(u32 collective)
{
	return &coll_kinds[collective < COLL_NR_COLLECTIVES ? collective : 0];
}

/* Is this enum coll_collective a message? */
static inline bool coll_is_message(u32 collective)
{
	return collective >= COLL_SEND && collective <= COLL_MRECV;
}

/* Does it look for a message, and receive nothing? */
static inline bool coll_is_probe(u32 collective)
{
	return collective == COLL_PROBE || collective == COLL_MPROBE;
}

/* Does this message have a sending end? */
static inline bool coll_msg_sends(u32 collective)
{
	return collective == COLL_SEND || collective == COLL_SENDRECV;
}

/* The schedules of v-forms are those of the collective without the v. */
u32 coll_plain_collective(u32 collective);

#endif /* COLL_PURE_COLLECTIVE_H */
