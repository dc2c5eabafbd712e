/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The registry, and the few words every algorithm uses to emit its steps.
 */
#ifndef COLL_PURE_ALGORITHMS_H
#define COLL_PURE_ALGORITHMS_H

#include "../schedule.h"

/* Far above COLL_MAX_SIZE, and low enough that no index computed here wraps. */
#define COLL_MAX_PARTICIPANTS	(1U << 24)

extern const struct coll_algorithm coll_allreduce_ring;
extern const struct coll_algorithm coll_allreduce_mesh_full;
extern const struct coll_algorithm coll_allreduce_mesh;
extern const struct coll_algorithm coll_allreduce_root;
extern const struct coll_algorithm coll_allreduce_tree;
extern const struct coll_algorithm coll_allreduce_double_tree;
extern const struct coll_algorithm coll_allreduce_ring_naive;
extern const struct coll_algorithm coll_allreduce_chain;
extern const struct coll_algorithm coll_allreduce_recursive_doubling;
extern const struct coll_algorithm coll_allreduce_rabenseifner;
extern const struct coll_algorithm coll_allreduce_knomial;

extern const struct coll_algorithm coll_broadcast_binomial;
extern const struct coll_algorithm coll_broadcast_linear;
extern const struct coll_algorithm coll_broadcast_knomial;
extern const struct coll_algorithm coll_broadcast_chain;
extern const struct coll_algorithm coll_broadcast_scatter_allgather;
extern const struct coll_algorithm coll_broadcast_double_tree;

extern const struct coll_algorithm coll_reduce_binomial;
extern const struct coll_algorithm coll_reduce_linear;
extern const struct coll_algorithm coll_reduce_chain;
extern const struct coll_algorithm coll_reduce_tree;
extern const struct coll_algorithm coll_reduce_rabenseifner;

extern const struct coll_algorithm coll_allgather_ring;
extern const struct coll_algorithm coll_allgather_linear;
extern const struct coll_algorithm coll_allgather_bruck;
extern const struct coll_algorithm coll_allgather_recursive_doubling;

extern const struct coll_algorithm coll_reduce_scatter_ring;
extern const struct coll_algorithm coll_reduce_scatter_linear;
extern const struct coll_algorithm coll_reduce_scatter_pairwise;
extern const struct coll_algorithm coll_reduce_scatter_recursive_halving;

extern const struct coll_algorithm coll_alltoall_linear;
extern const struct coll_algorithm coll_alltoall_pairwise;
extern const struct coll_algorithm coll_alltoall_bruck;

extern const struct coll_algorithm coll_gather_binomial;
extern const struct coll_algorithm coll_gather_linear;
extern const struct coll_algorithm coll_scatter_binomial;
extern const struct coll_algorithm coll_scatter_linear;

extern const struct coll_algorithm coll_scan_linear;
extern const struct coll_algorithm coll_scan_recursive_doubling;
extern const struct coll_algorithm coll_exscan_linear;
extern const struct coll_algorithm coll_exscan_recursive_doubling;

extern const struct coll_algorithm coll_barrier_dissemination;
extern const struct coll_algorithm coll_barrier_tree;

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

/* A range of chunks, and in which space. */
struct coll_chunks {
	u8	space;
	u32	chunk;
	u32	nr;
};

static inline struct coll_chunks coll_work(u32 chunk, u32 nr)
{
	return (struct coll_chunks){ COLL_SPACE_WORK, chunk, nr };
}

static inline struct coll_chunks coll_input(u32 chunk, u32 nr)
{
	return (struct coll_chunks){ COLL_SPACE_INPUT, chunk, nr };
}

static inline struct coll_chunks coll_scratch(u32 chunk, u32 nr)
{
	return (struct coll_chunks){ COLL_SPACE_TMP, chunk, nr };
}

/* Append a send of @s, which step @dep produces. */
static inline u32 coll_emit_send_span(struct coll_emit *e, u32 peer, struct coll_chunks s,
				      u32 dep, u8 flags)
{
	struct coll_step step = {
		.kind = COLL_STEP_SEND,
		.flags = flags,
		.space = s.space,
		.peer = peer,
		.chunk = s.chunk,
		.nr_chunks = s.nr,
		.dep = dep,
	};

	return coll_emit_step(e, &step);
}

/* Append a receive into @s. */
static inline u32 coll_emit_recv_span(struct coll_emit *e, u32 peer, struct coll_chunks s,
				      u8 action, u32 dep, u8 flags)
{
	struct coll_step step = {
		.kind = COLL_STEP_RECV,
		.action = action,
		.flags = flags,
		.space = s.space,
		.peer = peer,
		.chunk = s.chunk,
		.nr_chunks = s.nr,
		.dep = dep,
	};

	return coll_emit_step(e, &step);
}

/* Append a local sweep into @s that reads @from, if its action does. */
static inline u32 coll_emit_local(struct coll_emit *e, struct coll_chunks s, u8 action,
				  struct coll_chunks from, u32 dep, u8 flags)
{
	struct coll_step step = {
		.kind = COLL_STEP_LOCAL,
		.action = action,
		.flags = flags,
		.space = s.space,
		.chunk = s.chunk,
		.nr_chunks = s.nr,
		.dep = dep,
		.from_space = from.space,
		.from = from.chunk,
	};

	return coll_emit_step(e, &step);
}

/* Append the sweep that makes the result of the wide partial result in @from. */
static inline void coll_emit_result(struct coll_emit *e, struct coll_chunks from, u32 dep)
{
	coll_emit_local(e, coll_work(0, 1), COLL_ACT_MOVE, from, dep, COLL_STEP_FINAL);
}

/* Append the sweep that puts the inputs into @s. */
static inline u32 coll_emit_inputs(struct coll_emit *e, struct coll_chunks s, u8 flags)
{
	return coll_emit_local(e, s, COLL_ACT_INPUT, coll_work(0, 0), COLL_DEP_NONE, flags);
}

/* The participant @d places after @me in the circle of @n; @d <= n. */
static inline u32 coll_after(u32 n, u32 me, u32 d)
{
	return d < n - me ? me + d : me + d - n;
}

/* The participant @d places before @me. */
static inline u32 coll_before(u32 n, u32 me, u32 d)
{
	return me >= d ? me - d : me + n - d;
}

/*
 * Append a send of @s in a circular vector of @n chunks: two steps if @s runs over the end.
 */
static inline void coll_emit_send_circle(struct coll_emit *e, u32 peer, u32 n,
					 struct coll_chunks s, u8 flags)
{
	u32 head = s.nr < n - s.chunk ? s.nr : n - s.chunk, rest = s.nr - head;

	s.nr = head;
	coll_emit_send_span(e, peer, s, COLL_DEP_NONE, flags);
	s.chunk = 0;
	s.nr = rest;
	if (rest)
		coll_emit_send_span(e, peer, s, COLL_DEP_NONE, flags);
}

/* Append a receive of such a range, which only copies. */
static inline void coll_emit_recv_circle(struct coll_emit *e, u32 peer, u32 n,
					 struct coll_chunks s, u8 flags)
{
	u32 head = s.nr < n - s.chunk ? s.nr : n - s.chunk, rest = s.nr - head;

	s.nr = head;
	coll_emit_recv_span(e, peer, s, COLL_ACT_COPY, COLL_DEP_NONE, flags);
	s.chunk = 0;
	s.nr = rest;
	if (rest)
		coll_emit_recv_span(e, peer, s, COLL_ACT_COPY, COLL_DEP_NONE, flags);
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
