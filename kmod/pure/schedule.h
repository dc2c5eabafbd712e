/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Schedules are data: the list of steps one participant performs.
 *
 * A participant owns a working vector W of `chunks` chunks. What its local
 * ranks put in are its inputs, what they get are its outputs; how many local
 * ranks there are, a schedule does not know.
 *
 * Between two participants, the k-th send step of one towards the other pairs
 * with the k-th receive step of the other from the one; both name the same
 * chunk range. Transfers on one directed pair happen in that order. Sends and
 * receives of different pairs may go on at the same time, as their
 * dependencies allow.
 */
#ifndef COLL_PURE_SCHEDULE_H
#define COLL_PURE_SCHEDULE_H

#include "env.h"

/* What a step does. */
enum coll_step_kind {
	COLL_STEP_SEND	= 1,	/* W[range] to peer */
	COLL_STEP_RECV	= 2,	/* from peer, see action */
	COLL_STEP_LOCAL	= 3,	/* no peer: W[range] = op(inputs), see action */
};

/* What a receive or local step does with the bytes. */
enum coll_step_action {
	COLL_ACT_NONE		= 0,	/* sends, and ranges without bytes */
	COLL_ACT_COPY		= 1,	/* recv: W = received */
	COLL_ACT_REDUCE_IN	= 2,	/* recv: W = received op inputs, W not read */
	COLL_ACT_REDUCE		= 3,	/* recv: W = received op W */
	COLL_ACT_INPUT		= 4,	/* local: W = op(inputs); of one input, a copy */
};

/*
 * The result of this step goes to every local output, not just to W, in the
 * same sweep. Each chunk gets this exactly once, when it has its final value.
 */
#define COLL_STEP_FINAL	(1U << 0)
/* Starts only when every earlier receive and local step is complete. */
#define COLL_STEP_FENCE	(1U << 1)

#define COLL_DEP_NONE	(~(u32)0)

/**
 * struct coll_step - one transfer or local sweep
 * @kind: enum coll_step_kind
 * @action: enum coll_step_action
 * @flags: COLL_STEP_*
 * @peer: participant, for sends and receives
 * @chunk: first chunk of the range
 * @nr_chunks: chunks in the range; 0: a token, no bytes
 * @dep: index of an earlier receive or local step over the same range, whose
 *	watermark (bytes done, in order) bounds this step's; COLL_DEP_NONE
 */
struct coll_step {
	u8	kind;
	u8	action;
	u8	flags;
	u8	reserved;
	u32	peer;
	u32	chunk;
	u32	nr_chunks;
	u32	dep;
};

/**
 * struct coll_emit - where an algorithm puts its steps
 * @steps: array of @cap, or NULL with @cap 0 to learn how many there are
 * @cap: room in @steps
 * @nr: steps emitted, also those without room
 */
struct coll_emit {
	struct coll_step *steps;
	u32	cap;
	u32	nr;
};

/**
 * struct coll_algorithm - one algorithm of one collective
 * @name: as users select it
 * @id: enum coll_algorithm_id
 * @collective: enum coll_collective
 * @chunks: chunks a vector is cut into for @n participants
 * @emit: emits the steps of participant @me; @root is a participant, and 0
 *	where the collective has none. Returns 0, or -EINVAL for arguments out
 *	of range, before anything is emitted.
 * @sent: chunks' worth of payload participant @me sends: the stated formula.
 *	The checker holds @emit to it.
 * @latency: longest chain of dependent transfers: the stated formula
 */
struct coll_algorithm {
	const char *name;
	u16	id;
	u16	collective;
	u32	(*chunks)(u32 n);
	int	(*emit)(struct coll_emit *e, u32 n, u32 me, u32 root);
	u64	(*sent)(u32 n, u32 me, u32 root);
	u32	(*latency)(u32 n);
};

/**
 * coll_algorithm_find() - look an algorithm up
 * @collective: enum coll_collective
 * @id: enum coll_algorithm_id; COLL_ALG_AUTO: the default one
 *
 * Return: the algorithm, or NULL if there is none of that id for @collective.
 */
const struct coll_algorithm *coll_algorithm_find(u32 collective, u32 id);

/**
 * coll_algorithm_at() - walk the registry
 * @i: 0, 1, 2, ...
 *
 * Return: the i-th algorithm, NULL past the end.
 */
const struct coll_algorithm *coll_algorithm_at(u32 i);

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

#endif /* COLL_PURE_SCHEDULE_H */
