/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The registry, and the few words every algorithm uses to emit its steps.
 */
#ifndef COLL_PURE_ALGORITHMS_H
#define COLL_PURE_ALGORITHMS_H

#include "schedule.h"

/* Far above COLL_MAX_SIZE, and low enough that no index computed here wraps. */
#define COLL_MAX_PARTICIPANTS	(1U << 24)

extern const struct coll_algorithm coll_allreduce_ring;
extern const struct coll_algorithm coll_broadcast_binomial;
extern const struct coll_algorithm coll_barrier_dissemination;

/* May these be arguments of an emit function? */
static inline bool coll_emit_args_ok(u32 n, u32 me, u32 root)
{
	return n && n <= COLL_MAX_PARTICIPANTS && me < n && root < n;
}

/**
 * coll_emit_send() - append a send of one chunk
 * @e: where
 * @peer: to whom
 * @chunk: which
 * @dep: step that produces it
 * @flags: COLL_STEP_FENCE or 0
 */
static inline u32 coll_emit_send(struct coll_emit *e, u32 peer, u32 chunk,
				 u32 dep, u8 flags)
{
	struct coll_step s = {
		.kind = COLL_STEP_SEND,
		.flags = flags,
		.peer = peer,
		.chunk = chunk,
		.nr_chunks = 1,
		.dep = dep,
	};

	return coll_emit_step(e, &s);
}

/**
 * coll_emit_recv() - append a receive of one chunk
 * @e: where
 * @peer: from whom
 * @chunk: which
 * @action: enum coll_step_action
 * @flags: COLL_STEP_*
 */
static inline u32 coll_emit_recv(struct coll_emit *e, u32 peer, u32 chunk,
				 u8 action, u8 flags)
{
	struct coll_step s = {
		.kind = COLL_STEP_RECV,
		.action = action,
		.flags = flags,
		.peer = peer,
		.chunk = chunk,
		.nr_chunks = 1,
		.dep = COLL_DEP_NONE,
	};

	return coll_emit_step(e, &s);
}

/**
 * coll_emit_input() - append the local sweep that puts one chunk of the
 * inputs into W
 * @e: where
 * @chunk: which
 * @flags: COLL_STEP_*
 */
static inline u32 coll_emit_input(struct coll_emit *e, u32 chunk, u8 flags)
{
	struct coll_step s = {
		.kind = COLL_STEP_LOCAL,
		.action = COLL_ACT_INPUT,
		.flags = flags,
		.chunk = chunk,
		.nr_chunks = 1,
		.dep = COLL_DEP_NONE,
	};

	return coll_emit_step(e, &s);
}

/**
 * coll_emit_token() - append a transfer without bytes
 * @e: where
 * @kind: COLL_STEP_SEND or COLL_STEP_RECV
 * @peer: the other end
 * @flags: COLL_STEP_FENCE or 0
 */
static inline u32 coll_emit_token(struct coll_emit *e, u8 kind, u32 peer, u8 flags)
{
	struct coll_step s = {
		.kind = kind,
		.flags = flags,
		.peer = peer,
		.dep = COLL_DEP_NONE,
	};

	return coll_emit_step(e, &s);
}

/* Largest k with 2^k <= @n; @n is not 0. */
static inline u32 coll_log2_floor(u32 n)
{
	return 31 - __builtin_clz(n);
}

/* Smallest k with 2^k >= @n; @n is not 0. */
static inline u32 coll_log2_ceil(u32 n)
{
	return n > 1 ? coll_log2_floor(n - 1) + 1 : 0;
}

#endif /* COLL_PURE_ALGORITHMS_H */
