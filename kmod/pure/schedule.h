/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Schedules are data: the list of steps one participant performs.
 *
 * Participants are nodes or ranks, as the collective wants it. A participant has
 *
 * - inputs: of a node, those of all its ranks, which are only ever read together,
 *   folded in the order of ranks;
 * - outputs: what its ranks get; a step that is FINAL writes them all;
 * - the working vector W, and TMP, scratch of the same kind. Where the outputs have
 *   every chunk, the executor lets the first of them be W.
 *
 * Vectors are cut into chunks. In broadcast, reduce, allreduce, scan and exscan all vectors
 * have `count` elements, cut into alg->chunks(n) nearly equal chunks. In the others chunk i is
 * the block of participant i: an input of allgather and gather has just the block of its owner,
 * and so has an output of scatter and reduce_scatter; alltoall has in input chunk i what goes
 * to i, in output chunk i what came from i. TMP has alg->tmp(n) chunks, chunk k of the size of
 * chunk k mod alg->chunks(n).
 *
 * Between two participants, the k-th send step of one towards the other pairs
 * with the k-th receive step of the other from the one. Both have ranges of the
 * same length (the same one, but for alltoall and TMP), and the same round. Transfers on
 * one directed pair happen in that order. Sends and receives of different pairs may go
 * on at the same time, as their dependencies allow; but where many participants
 * share one stream they take turns by (round, sender, receiver), so that
 * within a participant a transfer depends on transfers of earlier rounds only.
 */
#ifndef COLL_PURE_SCHEDULE_H
#define COLL_PURE_SCHEDULE_H

#include "env.h"

/* The kind of a step. */
enum coll_step_kind {
	COLL_STEP_SEND	= 1,	/* space[range] to peer */
	COLL_STEP_RECV	= 2,	/* from peer into space[range], see action */
	COLL_STEP_LOCAL	= 3,	/* no peer: into space[range], see action */
};

/* Where a step reads (sends) or writes (receives, local steps). */
enum coll_step_space {
	COLL_SPACE_WORK		= 0,
	COLL_SPACE_INPUT	= 1,	/* sends of a participant with one input only */
	COLL_SPACE_TMP		= 2,
};

/* The use that a receive or local step makes of the bytes; S is space[range]. */
enum coll_step_action {
	COLL_ACT_NONE		= 0,	/* sends, and ranges without bytes */
	COLL_ACT_COPY		= 1,	/* recv: S = received */
	COLL_ACT_REDUCE_IN	= 2,	/* recv: S = received op inputs, S not read */
	COLL_ACT_REDUCE		= 3,	/* recv: S = received op S */
	COLL_ACT_INPUT		= 4,	/* local: S = op(inputs); of one input, a copy */
	COLL_ACT_FOLD_INPUT	= 5,	/* local: S = inputs op S */
	COLL_ACT_FOLD		= 6,	/* local: S = from op S */
	COLL_ACT_MOVE		= 7,	/* local: S = from */
};

/*
 * The result of this step goes to every output, not just to W, in the
 * same sweep. Each chunk gets this exactly once, when it has its final value.
 */
#define COLL_STEP_FINAL	(1U << 0)
/* Starts only when every earlier receive and local step is complete. */
#define COLL_STEP_FENCE	(1U << 1)
/*
 * Order: what comes to S goes behind what is there: S op received, inputs op received
 * (REDUCE_IN), S op inputs, S op from.
 */
#define COLL_STEP_LAST	(1U << 2)

#define COLL_DEP_NONE	(~(u32)0)

/**
 * struct coll_step - one transfer or local sweep
 * @kind: enum coll_step_kind
 * @action: enum coll_step_action
 * @flags: COLL_STEP_*
 * @space: enum coll_step_space
 * @peer: participant, for sends and receives
 * @chunk: first chunk of the range
 * @nr_chunks: chunks in the range; 0: a token, no bytes
 * @dep: index of an earlier receive or local step over a range of the same length,
 *	whose watermark (bytes done, in order) bounds this step's; COLL_DEP_NONE
 * @round: time step of a transfer, from 0; those of a participant never go back
 * @from_space: FOLD, MOVE: where the other operand is; for MOVE also INPUT, if the
 *	participant has one input
 * @from: its first chunk
 */
struct coll_step {
	u8	kind;
	u8	action;
	u8	flags;
	u8	space;
	u32	peer;
	u32	chunk;
	u32	nr_chunks;
	u32	dep;
	u32	round;
	u32	from_space;
	u32	from;
};

/**
 * struct coll_emit - where an algorithm puts its steps
 * @steps: array of @cap, or NULL with @cap 0 to learn how many there are
 * @cap: room in @steps
 * @nr: steps emitted, also those without room
 * @chunks: chunks in the ranges of all these steps
 * @tokens: number of these steps without chunks
 * @round: stamped onto the steps; the algorithm moves it on
 * @radix: parameter of algorithms that have one (knomial); 0: their default
 * @wide: partial results are larger than results. Scans then pass on what lies in TMP, and
 *	turn a copy of it into the result; TMP has a chunk more, the last one, for this
 */
struct coll_emit {
	struct coll_step *steps;
	u32	cap;
	u32	nr;
	u32	round;
	u32	radix;
	bool	wide;
	u64	chunks;
	u64	tokens;
};

/* struct coll_algorithm.flags: what an executor has to be able to do besides */
#define COLL_ALG_TMP	(1U << 0)	/* has TMP chunks */
#define COLL_ALG_LAST	(1U << 1)	/* COLL_STEP_LAST, FOLD_INPUT, FOLD, MOVE */
#define COLL_ALG_INPUT	(1U << 2)	/* sends, moves from COLL_SPACE_INPUT */
#define COLL_ALG_RANKS	(1U << 3)	/* participants are ranks, never nodes */
/* The fold is in the order of participants: fit for operators that do not commute. */
#define COLL_ALG_ORDERED (1U << 4)
#define COLL_ALG_EQUAL	(1U << 5)	/* blocks of one size only: not for v-forms */
/* Blocks go straight from input to output: nobody else need know their sizes. */
#define COLL_ALG_DIRECT	(1U << 6)
#define COLL_ALG_HAS_RADIX (1U << 7)	/* struct coll_emit.radix means something */
/* Each chunk is summed up by one participant, and the others get a copy. */
#define COLL_ALG_ONE_PLACE (1U << 8)

/**
 * struct coll_algorithm - one algorithm of one collective
 * @name: as users select it
 * @id: enum coll_algorithm_id
 * @collective: enum coll_collective
 * @flags: COLL_ALG_*
 * @chunks: chunks a vector is cut into for @n participants
 * @tmp: chunks of TMP; NULL: none
 * @emit: emits the steps of participant @me; @root is a participant, and 0
 *	where the collective has none. Returns 0, or -EINVAL for arguments out
 *	of range, before anything is emitted.
 * @sent: chunks' worth of payload participant @me sends: the stated formula.
 *	The checker holds @emit to it.
 * @latency: longest chain of dependent transfers: the stated formula. For an algorithm with a
 *	radix, both formulas are for its default.
 */
struct coll_algorithm {
	const char *name;
	u16	id;
	u16	collective;
	u32	flags;
	u32	(*chunks)(u32 n);
	u32	(*tmp)(u32 n);
	int	(*emit)(struct coll_emit *e, u32 n, u32 me, u32 root);
	u64	(*sent)(u32 n, u32 me, u32 root);
	u32	(*latency)(u32 n, u32 root);
};

/**
 * coll_emit_step() - append one step
 * @e: where
 * @s: what; copied
 *
 * Return: the index of the step.
 */
u32 coll_emit_step(struct coll_emit *e, const struct coll_step *s);

/**
 * coll_chunk_start() - first element of a chunk
 * @count: elements of the vector
 * @chunks: chunks it is cut into, not 0
 * @i: 0 .. @chunks; @chunks itself gives @count
 *
 * The remainder is spread over the first chunks, one element each; a chunk may
 * be empty.
 */
u64 coll_chunk_start(u64 count, u32 chunks, u32 i);

/* Formulas that many share. */
u32 coll_one_chunk(u32 n);		/* 1: the vector stays whole */
u32 coll_n_chunks(u32 n);		/* one for each participant */

#endif /* COLL_PURE_SCHEDULE_H */
