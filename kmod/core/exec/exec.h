/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The executor: runs any schedule. Links call it from their work with bytes and
 * for bytes; it calls links through their ops table to wake them.
 *
 * One step is run by one worker at a time. The work of a link, or the caller that attends to the
 * link, runs its receives and sends. A worker of the op runs local steps and transfers between
 * local participants; if nothing depends on such a step, all helpers share it. Workers meet only
 * at the watermarks.
 */
#ifndef COLL_CORE_EXEC_H
#define COLL_CORE_EXEC_H

#include <linux/sched/signal.h>

#include "../../pure/schedule.h"
#include "../group/op_state.h"
#include "../group/req.h"
#include "../limits.h"
#include "../mem/sweep.h"

struct coll_helper;
struct coll_link;
struct coll_tally;

/*
 * Number of helpers that local steps are dealt out to. The helpers of a small op call each other,
 * so they may take that many frames of stack.
 */
#define COLL_EXEC_DEALT	4

/* A place in a vector: bytes from its start on. */
struct coll_place {
	const struct coll_vec *vec;
	u64 at;
};

/**
 * struct coll_exec_step - a step and how far it has come
 * @s: the step; ->dep is an index in the steps of the op
 * @part: the local participant it belongs to
 * @node: of a transfer with another node: that node
 * @link: number of the link to @node; of a local step, that of the block it belongs to
 * @unit: bytes of an element as this step counts them: of partial results where it
 *	moves or makes such, else of the type; with @wire, of an element on a link
 * @finish: it copies, but a partial result, of which the outputs get the result
 * @wire: transfers: elements have a smaller type on links (struct coll_reducer.wire)
 * @len: bytes of the range
 * @src: what is sent, or moved or folded into @dst
 * @dst: where space[range] is; sends read @src
 * @with: receives that reduce: what with, if that is not in @dst; see plan_alias.c
 * @in_at: byte offset of the range in the inputs
 * @out_at: byte offset of the range in the outputs
 * @first: where the bytes of this step begin among those of all, see slices.c
 * @piece_at: of a fusion with a tally: where it begins, as the tally counts
 * @after: every step before this one of its participant must be complete first
 * @pair: receives from a local participant: its send step, which is performed
 *	together with this one; else COLL_DEP_NONE
 * @prev: receives from a local participant: the receive before it from the same one; else
 *	COLL_DEP_NONE. Those of a pair happen in order, and schedules count on it.
 * @done: watermark: bytes done, in order. Written by the step's worker only,
 *	with release; what it covers may be read after an acquire.
 * @complete: set once, with release, when there is nothing more to do
 * @idle: there was nothing to do from the start
 * @ordinal: among the transfers of its kind over this link
 * @next: next step of its kind over this link, COLL_DEP_NONE
 */
struct coll_exec_step {
	struct coll_step s;
	u32 part;
	u32 node;
	u32 link;
	u32 unit;
	bool finish;
	bool wire;
	u64 len;
	struct coll_place src;
	struct coll_place dst;
	struct coll_place with;
	u64 in_at;
	u64 out_at;
	u64 first;
	u64 piece_at;
	u32 after;
	u32 pair;
	u32 prev;
	u64 done;
	bool complete;
	bool idle;
	u32 ordinal;
	u32 next;
};

/**
 * struct coll_part - a participant that lives here: this node, or one of its ranks
 * @id: its number
 * @req: a rank's request; of a node, that of any of its ranks
 * @in: input vectors, by rank
 * @out: output vectors, by rank
 * @nr_in: number of @in
 * @nr_out: number of @out
 * @scale: premulsum: factors of the inputs; else NULL
 * @work: W: the first output, where the outputs have every chunk, or scratch
 * @tmp: TMP, scratch
 * @begin: its first step
 * @end: behind its last one
 * @fences: of each block: from its begin up to here all receive and local steps are
 *	complete; a hint where to go on looking
 * @drained: the same of all steps, from @begin on
 */
struct coll_part {
	u32 id;
	struct coll_req *req;
	struct coll_vec *in;
	struct coll_vec *out;
	u32 nr_in;
	u32 nr_out;
	u64 *scale;
	struct coll_vec work;
	struct coll_vec tmp;
	u32 begin;
	u32 end;
	u32 *fences;
	u32 drained;
};

/* Move the watermark. A thread that sees it sees the bytes below it as well. */
static inline void coll_step_advance(struct coll_exec_step *st, u64 len)
{
	/* pairs with coll_step_done() */
	smp_store_release(&st->done, st->done + len);
}

/* Bytes of a step that may be read. */
static inline u64 coll_step_done(const struct coll_exec_step *st)
{
	/* pairs with coll_step_advance() */
	return smp_load_acquire(&st->done);
}

static inline bool coll_step_is_complete(const struct coll_exec_step *st)
{
	/* pairs with coll_step_complete() in exec_step.c */
	return smp_load_acquire(&st->complete);
}

/**
 * struct coll_exec_peer - an op's traffic over one link
 * @peer: node
 * @link: number of the link to that node
 * @send: step to send next; that link's work only
 * @recv: step to receive next; that link's work only
 * @first_send: the first step to send of this op
 * @first_recv: the first step to receive of this op
 * @sent: of an op with a tally: bytes that have been sent, of all steps; so the next ones, and
 *	all that link's work only
 * @freed: of these, bytes that nobody reads any more
 * @freeing: the step that the next byte of @freed is of
 * @freeing_at: which byte of this step that is
 */
struct coll_exec_peer {
	u32 peer;
	u32 link;
	u32 send;
	u32 recv;
	u32 first_send;
	u32 first_recv;
	u64 sent;
	u64 freed;
	u32 freeing;
	u64 freeing_at;
};

/**
 * struct coll_plan_key - what a plan depends on, besides the group
 * @cmd: fields that are the same on all ranks; else 0
 * @agreed: see struct coll_op
 * @scaling: see struct coll_op
 * @chosen: see struct coll_op
 * @links: see struct coll_op
 */
struct coll_plan_key {
	struct coll_cmd cmd;
	u64 agreed;
	struct coll_scaling scaling;
	u16 chosen;
	u32 links;
};

/**
 * struct coll_exec - a schedule laid out over the buffers of an op
 * @op: the op; of a plan that is kept, the last one
 * @list: in group->plans while it is kept; group->lock
 * @key: which ops it will do for, see plan_keep.c
 * @in_place: by local index, of these
 * @reducer: the operator; its part is NULL where nothing is reduced
 * @in_order: partial results need not come first in a fold
 * @memory: bytes of scratch and of the table of steps
 * @todo: bytes of local steps
 * @pass: one pass over the vectors of all ranks, see plan_pass.c
 * @abreast: the same bytes of all its steps go together, in the order of the steps
 * @open: any number of helpers may work on the steps: there is just one, or they are a pass
 * @small: a thread that kicks a helper does its work itself, which is faster than to wake a worker
 * @stream: stores go past the caches, because the op writes many bytes that it does not read
 *	again
 * @parts: local participants
 * @nr_parts: number of @parts
 * @vecs: input and output vectors of all of them
 * @scales: factors of all of them, or NULL
 * @blocks: the vector is cut into these, and the schedule run for each; they go over
 *	the links alternately
 * @at_once: blocks that there is scratch for at the same time; a later one waits
 * @fences: of all parts and blocks
 * @steps: the schedules, participant by participant, each block by block
 * @nr_steps: number of @steps
 * @steps_left: not complete yet
 * @peers: traffic over each link that the schedules use, by node and number
 * @nr_peers: number of @peers
 * @team: slices that any number of helpers may work on; 0: not yet
 * @cursor: how many of these have been given to helpers
 * @swept: how many of these are done
 * @slice: bytes of a slice, as slices.c counts them
 * @slice_next: of each part of the slices, the first one that has not been given, see slices.c
 * @slice_parts: number of these parts
 * @taken: with several memory nodes, bits of the slices that have been given; else NULL
 * @helpers: helpers for the slices; the first @nr_helpers also have local steps
 * @most_helpers: number of @helpers: one for each local rank, or each CPU
 * @nr_helpers: number of helpers with local steps; at most COLL_EXEC_DEALT
 * @local: the local steps of all helpers
 * @tally: of a fusion: what is left of each tensor; NULL: all end together
 */
struct coll_exec {
	struct coll_op *op;
	struct list_head list;
	struct coll_plan_key key;
	unsigned long *in_place;
	struct coll_reducer reducer;
	bool in_order;
	u64 memory;
	u64 todo;
	bool pass;
	bool abreast;
	bool open;
	bool small;
	bool stream;
	struct coll_part *parts;
	u32 nr_parts;
	struct coll_vec *vecs;
	u64 *scales;
	u32 blocks;
	u32 at_once;
	u32 *fences;
	struct coll_exec_step *steps;
	u32 nr_steps;
	atomic_t steps_left;
	struct coll_exec_peer *peers;
	u32 nr_peers;
	u64 team;
	atomic64_t cursor;
	atomic64_t swept;
	u64 slice;
	atomic64_t slice_next[COLL_SLICE_PARTS];
	u32 slice_parts;
	unsigned long *taken;
	struct coll_helper *helpers;
	u32 most_helpers;
	u32 nr_helpers;
	u32 *local;
	struct coll_tally *tally;
};

/* Free what coll_exec_prepare() made. NULL is fine. */
void coll_exec_free(struct coll_exec *x);

/**
 * coll_exec_awaited() - the node that a running op waits for
 * @x: of a running op, with a ref
 *
 * Return: a peer that owes us a transfer, one that has not announced the op
 * before one that has; COLL_RANK_NONE if none owes any.
 */
u32 coll_exec_awaited(const struct coll_exec *x);

/**
 * coll_exec_recv_step() - the step that takes the next bytes from a link
 * @x: of a running op, with a ref
 * @link: that it comes by
 * @room: result: bytes it may take now, counted from its watermark; 0 is
 *	enough for a token if NULL is not returned
 * @blocked: result: a step is expected, but what it depends on is not there
 *	yet; the link is kicked when it is
 *
 * Return: the step, or NULL if none is expected. That link's work only.
 */
struct coll_exec_step *coll_exec_recv_step(struct coll_exec *x,
					   const struct coll_link *link,
					   u64 *room, bool *blocked);

/* Is there still something to receive from @link? */
bool coll_exec_receives(struct coll_exec *x, const struct coll_link *link);

/* Is there still something to send to @link? */
bool coll_exec_sends(struct coll_exec *x, const struct coll_link *link);

/* Does a block use scratch that an earlier one has used? */
static inline bool coll_exec_reuses(const struct coll_exec *x)
{
	return x->blocks > x->at_once;
}

/* Does this receive step compute with what comes, so that it wants whole elements? */
static inline bool coll_exec_reduces(const struct coll_exec_step *st)
{
	return st->s.action == COLL_ACT_REDUCE ||
	       st->s.action == COLL_ACT_REDUCE_IN || st->finish || st->wire;
}

/**
 * coll_exec_recv() - take received bytes
 * @x: of a running op, with a ref
 * @st: from coll_exec_recv_step()
 * @sw: scratch
 * @data: bytes at offset st->done of the transfer
 * @len: how many, inside the room: whole elements if the step reduces; 0 for a
 *	token
 *
 * Moves the watermark; may complete the step, and with it the op.
 * Return: 0; an error has been reported with coll_exec_failed().
 */
int coll_exec_recv(struct coll_exec *x, struct coll_exec_step *st,
		   struct coll_sweep *sw, const void *data, u32 len);

/**
 * coll_exec_send_step() - what to send to a link now
 * @x: of a running op, with a ref
 * @link: link
 * @avail: result: bytes from st->done on that make the next frame; 0: a token
 *
 * Return: the step, or NULL if nothing may go yet. That link's work only.
 */
struct coll_exec_step *coll_exec_send_step(struct coll_exec *x,
					   const struct coll_link *link, u32 *avail);

/**
 * coll_exec_may_zerocopy() - may pages of a send step be read after it is done?
 * @x: of a running op, with a ref
 * @st: send step
 *
 * The schedules allow for it: what a send reads is not written again before its receive has
 * taken it (pure/check/races.c). Exceptions are scratch that later blocks use, and windows,
 * which are pinned for the moment only.
 */
bool coll_exec_may_zerocopy(const struct coll_exec *x, const struct coll_exec_step *st);

/**
 * coll_exec_narrowed() - payload of a send step whose elements have a smaller type on links
 * @x: of a running op, with a ref
 * @st: send step with @wire
 * @to: result
 * @room: bytes there, two elements at least
 * @len: bytes that are wanted from st->done on
 * @skip: result: where in @to they begin: st->done may be inside of an element
 *
 * Return: how many of them are there; negative: as coll_vec_run(). Process context.
 */
int coll_exec_narrowed(const struct coll_exec *x, const struct coll_exec_step *st, void *to,
		       u32 room, u32 len, u32 *skip);

/* Do these bytes end what this op has for the link? */
static inline bool coll_exec_is_last_send(const struct coll_exec_step *st, u64 len)
{
	return st->next == COLL_DEP_NONE && st->done + len == st->len;
}

/* The step whose frame is being sent to @link: the last coll_exec_send_step(). */
struct coll_exec_step *coll_exec_sending(struct coll_exec *x,
					 const struct coll_link *link);

/**
 * coll_exec_sent() - bytes of a send step have left the pages, or go without a copy
 * @x: of a running op, with a ref
 * @st: from coll_exec_send_step()
 * @len: bytes; 0: the token
 */
void coll_exec_sent(struct coll_exec *x, struct coll_exec_step *st, u32 len);

/* Do tensors of this op end one by one, so that coll_exec_freed() is to be called? */
static inline bool coll_exec_tallies(const struct coll_exec *x)
{
	return x->tally;
}

/* Bytes that this op has sent to @link; it tallies. That link's work only. */
u64 coll_exec_sent_bytes(struct coll_exec *x, const struct coll_link *link);

/**
 * coll_exec_freed() - nobody reads any more what was sent first
 * @x: of an op with a ref; it tallies
 * @link: that it went by
 * @bytes: how much, counted as coll_exec_sent_bytes() does, and never less than before
 *
 * May complete tensors. That link's work only.
 */
void coll_exec_freed(struct coll_exec *x, const struct coll_link *link, u64 bytes);

/*
 * A thread of a rank is to stop, or to run a handler, or dies: it finishes the slice it is
 * at, and a worker does the rest. A small op is less than a slice.
 */
static inline bool coll_helper_must_go(const struct coll_exec *x)
{
	return !x->small && signal_pending(current);
}

#endif /* COLL_CORE_EXEC_H */
