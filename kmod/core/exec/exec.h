/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The executor runs any schedule. The work of a link gives it received bytes, and asks it for
 * bytes to send. The executor wakes links through their ops table.
 *
 * One step is run by one worker at a time. The work of a link, or the caller that attends to the
 * link, runs its receives and sends. A worker of the op runs local steps and transfers between
 * local participants; if nothing depends on such a step, all helpers share it. Workers synchronize
 * by the watermarks only.
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
 * Most helpers that local steps are divided among. The helpers of a small op call each other, so
 * their calls may be nested this deep on the stack.
 */
#define COLL_EXEC_DEALT	4

/* A place in a vector: @at bytes from its start. */
struct coll_place {
	const struct coll_vec *vec;
	u64 at;
};

/**
 * struct coll_exec_step - a step and its progress
 * @s: the step; ->dep is an index in the steps of the op
 * @part: the local participant it belongs to
 * @node: transfers with another node: that node
 * @link: number of the link to @node; local steps: number of the link of their block
 * @unit: bytes of an element as this step counts them: of a partial result if it moves or makes
 *	partial results, else of the type; with @wire, of an element on a link
 * @finish: the step copies a partial result, and writes the result to the outputs
 * @wire: transfers: elements have a smaller type on links (struct coll_reducer.wire)
 * @len: bytes of the range
 * @src: the vector that is sent, moved to @dst or folded into @dst
 * @dst: where space[range] is; sends read @src
 * @with: reductions: the other operand, if it is not in @dst; see plan_alias.c
 * @in_at: byte offset of the range in the inputs
 * @out_at: byte offset of the range in the outputs
 * @first: number of the first byte of this step among the bytes of all steps, see slices.c
 * @piece_at: fusions with a tally: the element of the fusion where the step begins
 * @after: all steps of its participant below this index must be complete first; 0: none
 * @pair: receives from a local participant: its send step, which is performed
 *	together with this one; else COLL_DEP_NONE
 * @prev: receives from a local participant: the receive from it before this one; else
 *	COLL_DEP_NONE. Schedules rely on the order of the transfers of a pair.
 * @done: watermark: bytes done, in order. Written by the step's worker only,
 *	with release; the bytes below it may be read after an acquire.
 * @complete: set once, with release, when there is nothing more to do
 * @idle: there was nothing to do from the start
 * @ordinal: its number among the transfers of its kind over this link
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
 * @req: request of the rank; if it is a node, of any of its ranks
 * @in: input vectors, by rank
 * @out: output vectors, by rank
 * @nr_in: number of @in
 * @nr_out: number of @out
 * @scale: premulsum: factors of the inputs; else NULL
 * @work: W: the first output, if the outputs have every chunk; else scratch
 * @tmp: TMP, scratch
 * @begin: index of its first step
 * @end: index after its last step
 * @fences: for each block: its receive and local steps below this index are complete. A hint:
 *	the next search begins here.
 * @drained: the same for all steps from @begin on
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
 * @sent: bytes that all steps have sent. This field and the next three are for ops with a tally;
 *	that link's work only
 * @freed: bytes of @sent that are not read any more
 * @freeing: the step that has the next byte to be freed
 * @freeing_at: offset of this byte in the step
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
 * @op: the op; NULL in a plan that is kept
 * @list: in group->plans while it is kept; group->lock
 * @key: the ops that the plan fits, see plan_keep.c
 * @in_place: the local ranks of these ops that work in place, as bits by local index
 * @reducer: the operator; ->part is NULL if nothing is reduced
 * @in_order: partial results need not come first in a fold
 * @memory: bytes of scratch and of the table of steps; 0 if the op has started alone
 * @todo: bytes of local steps
 * @pass: one pass over the vectors of all ranks, see plan_pass.c
 * @abreast: a slice is the same range of bytes of all steps, in the order of the steps
 * @open: any number of helpers may work on the steps: there is one step, or the steps are a pass
 * @small: a thread that kicks a helper does its work itself: this is faster than waking a worker
 * @may_stream: no step reads what another one writes, and no vector is in place
 * @stream: stores go past the caches: this op, or the ops that wait for it, use more bytes than
 *	the caches hold
 * @parts: local participants
 * @nr_parts: number of @parts
 * @vecs: input and output vectors of all @parts
 * @scales: factors of all @parts, or NULL
 * @blocks: number of blocks that the vector is cut into. The schedule runs for each block; blocks
 *	use the links in turn.
 * @at_once: number of blocks that have scratch at the same time; later blocks wait
 * @fences: of all parts and blocks
 * @steps: the schedules, participant by participant, each block by block
 * @nr_steps: number of @steps
 * @steps_left: number of steps that are not complete
 * @peers: traffic over each link that the schedules use, by node and number
 * @nr_peers: number of @peers
 * @team: number of slices, which any number of helpers may take; 0: they are not open yet
 * @cursor: number of slices that helpers have taken
 * @swept: number of slices that are done
 * @slice: bytes of a slice, as slices.c counts them
 * @slice_next: for each part of the slices: the first slice that is not taken, see slices.c
 * @slice_parts: number of these parts
 * @taken: with several memory nodes: bits of the slices that are taken; else NULL
 * @helpers: helpers for the slices; the first @nr_helpers also have local steps
 * @most_helpers: number of @helpers: one for each local rank, or each CPU
 * @queued: the first @queued of @helpers have been queued as workers, or skipped
 * @skipped: number of those skipped: their work item was still running
 * @staff: when no rank helps with the slices any more, workers are queued until there are this
 *	many in all; 0: they have been queued. Taken by exchange.
 * @nr_helpers: number of helpers with local steps; at most COLL_EXEC_DEALT
 * @local: the local steps of all helpers
 * @tally: fusions: what is left to do of each tensor; NULL: all tensors end together
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
	bool may_stream;
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
	u32 queued;
	u32 skipped;
	u32 staff;
	u32 nr_helpers;
	u32 *local;
	struct coll_tally *tally;
};

/* Let other threads run, after step @i in a loop over all steps. There may be a million steps. */
static inline void coll_steps_pause(u32 i)
{
	if (!((i + 1) % COLL_SLICE_STEPS))
		cond_resched();
}

/* Free what coll_plan_prepare() made. NULL is fine. */
void coll_exec_free(struct coll_exec *x);

/**
 * coll_exec_awaited() - the node that a running op waits for
 * @x: of a running op, with a ref
 *
 * Return: a peer that still has to send to this node; if possible, a peer that has not announced
 * the op. COLL_RANK_NONE if there is no such peer.
 */
u32 coll_exec_awaited(const struct coll_exec *x);

/**
 * coll_exec_recv_step() - the step that takes the next bytes from a link
 * @x: of a running op, with a ref
 * @link: that the bytes come by
 * @room: result: bytes that the step may take now, counted from its watermark; 0 is
 *	enough for a token if NULL is not returned
 * @blocked: result: a step is expected, but it has to wait for the step it depends on; the link
 *	is kicked when that has made progress
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

/* Does this receive step compute with the received bytes? Then it needs whole elements. */
static inline bool coll_exec_reduces(const struct coll_exec_step *st)
{
	return st->s.action == COLL_ACT_REDUCE ||
	       st->s.action == COLL_ACT_REDUCE_IN || st->finish || st->wire;
}

/* Number of vectors that a receive step reads and writes. The received bytes count as a vector. */
u32 coll_exec_vectors(const struct coll_exec *x, const struct coll_exec_step *st);

/* Are all pages that a receive step reads and writes pinned? Then coll_exec_fold() does not fault. */
bool coll_exec_is_pinned(const struct coll_exec *x, const struct coll_exec_step *st);

/**
 * coll_exec_fold() - copy or reduce received bytes into the vectors of a step
 * @x: of a running op, with a ref
 * @st: from coll_exec_recv_step()
 * @sw: scratch
 * @data: received bytes
 * @at: their offset in the transfer
 * @len: how many, not 0, inside the room: whole elements if the step reduces
 * @atomic: do not sleep; the pages are pinned (coll_exec_is_pinned())
 *
 * Does not move the watermark. Return: 0 or -errno, which is for coll_exec_failed().
 */
int coll_exec_fold(struct coll_exec *x, const struct coll_exec_step *st, struct coll_sweep *sw,
		   const void *data, u64 at, u32 len, bool atomic);

/**
 * coll_exec_took() - the next bytes of a transfer have been folded
 * @x: of a running op, with a ref
 * @st: from coll_exec_recv_step()
 * @len: how many; 0 for a token
 *
 * Moves the watermark. May complete the step, and with it the op; may run other steps.
 */
void coll_exec_took(struct coll_exec *x, struct coll_exec_step *st, u32 len);

/**
 * coll_exec_send_step() - find the bytes to send to a link now
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
 * Schedules permit it: they overwrite bytes of a send only after the receiver has taken them
 * (pure/check/races.c). Exceptions are scratch that later blocks use, and windows, whose pages are
 * pinned for a moment only.
 */
bool coll_exec_may_zerocopy(const struct coll_exec *x, const struct coll_exec_step *st);

/**
 * coll_exec_narrowed() - payload of a send step whose elements have a smaller type on links
 * @x: of a running op, with a ref
 * @st: send step with @wire
 * @to: result
 * @room: bytes there, two elements at least
 * @len: bytes that are wanted from st->done on
 * @skip: result: offset of these bytes in @to: st->done may be inside an element
 *
 * Return: how many wanted bytes are in @to; negative: as coll_vec_run(). Process context.
 */
int coll_exec_narrowed(const struct coll_exec *x, const struct coll_exec_step *st, void *to,
		       u32 room, u32 len, u32 *skip);

/* Are these the last bytes that this op sends to the link? */
static inline bool coll_exec_is_last_send(const struct coll_exec_step *st, u64 len)
{
	return st->next == COLL_DEP_NONE && st->done + len == st->len;
}

/* The step whose frame is being sent to @link: the last coll_exec_send_step(). */
struct coll_exec_step *coll_exec_sending(struct coll_exec *x,
					 const struct coll_link *link);

/**
 * coll_exec_sent() - bytes of a send step have been copied, or are sent without a copy
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

/* Bytes that this op, which has a tally, has sent to @link. That link's work only. */
u64 coll_exec_sent_bytes(struct coll_exec *x, const struct coll_link *link);

/**
 * coll_exec_freed() - the first bytes that were sent are not read any more
 * @x: of an op with a ref and a tally
 * @link: that the bytes were sent to
 * @bytes: how many, counted as coll_exec_sent_bytes() does, and never less than before
 *
 * May complete tensors. That link's work only.
 */
void coll_exec_freed(struct coll_exec *x, const struct coll_link *link, u64 bytes);

/*
 * Must this thread of a rank stop, run a signal handler or die? Then it finishes its slice, and a
 * worker does the rest. A small op is less than a slice.
 */
static inline bool coll_helper_must_go(const struct coll_exec *x)
{
	return !x->small && signal_pending(current);
}

#endif /* COLL_CORE_EXEC_H */
