/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ops: one collective as this node sees it.
 *
 * Life
 *   POSTED   some local ranks have posted it; waits in group->ops
 *   RUNNING  all have, its turn has come (op_run.c): ->started
 *   ENDING   COLL_OPF_ENDING is set, by the step that was the last one or by a
 *            failure, whoever is first: ->result is fixed
 *   ENDED    users are zero: nothing touches its pages any more. When the ops
 *            before it have gone, buffers are put, each request is completed
 *            exactly once, the op is freed.
 *
 * Whoever reads or writes an op's pages or steps holds a use. The first use
 * belongs to the op itself and is dropped when COLL_OPF_ENDING gets set. A use
 * is only gained while the count is not zero.
 */
#ifndef COLL_CORE_OP_H
#define COLL_CORE_OP_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include <linux/coll.h>

#include "../mem/buf.h"

struct coll_exchange;
struct coll_group;
struct coll_member;
struct coll_exec;
struct coll_sleeper;
struct coll_slot;
struct coll_worker;

/**
 * struct coll_req - one rank's part in an op
 * @member: who
 * @cmd: what, decoded and checked
 * @in: input vector
 * @out: output vector
 * @in_bytes: length of the input
 * @bytes: length of the longer one
 * @counts: v-forms: elements of each rank's block; alltoallv: those of the input,
 *	then those of the output; NULL: not given
 * @displs: where they begin, likewise; NULL: one behind the other
 * @agreed: what stands for the count in the signature
 * @seq: its number among the ops of the rank, from posting on; 0: a message
 * @slot: of small vectors, where they are meanwhile; NULL: they are where they are
 * @op: the op, from posting to its end; written under group->lock, compared by anyone
 * @exchange: of messages, likewise
 * @got: of messages: what was received
 * @has_got: something was
 * @counted: it counts in user->commands, see coll_req_count()
 * @named: the coordinator says when it is posted, see tensor.h; set by front before
 *	it is decoded
 * @absent: its rank has joined: it has no vectors of its own
 * @divisor: avg: what the sum is divided by; 0: the ranks of the communicator
 * @list: in the op, by local index; group->lock
 * @sleeper: a thread of the rank that can be woken to help; NULL: none
 * @done: called exactly once for a posted request, in process context, when the
 *	op has ended and its buffers are released. May free the request.
 *
 * Owner: front, which allocates it and gets it back through @done, or keeps it
 * when posting fails.
 */
struct coll_req {
	struct coll_member *member;
	struct coll_cmd cmd;
	struct coll_vec in;
	struct coll_vec out;
	u64 in_bytes;
	u64 bytes;
	u64 *counts;
	u64 *displs;
	u64 agreed;
	u64 seq;
	struct coll_slot *slot;
	struct coll_op *op;
	struct coll_exchange *exchange;
	struct coll_message got;
	bool has_got;
	bool counted;
	bool named;
	bool absent;
	u32 divisor;
	struct list_head list;
	struct coll_sleeper *sleeper;
	void (*done)(struct coll_req *req, int result);
};

/* struct coll_op.flags: bit numbers */
#define COLL_OPF_ENDING	0

/**
 * struct coll_op - see the top of this file
 * @ref: memory; held by the op itself and by an armed deadline
 * @users: uses; 0: ended
 * @lenders: links whose peers have pages of it: it may be long until it ends
 * @flags: COLL_OPF_*
 * @list: in group->ops; group->lock
 * @todo: for whoever ends all of them
 * @group: with a reference
 * @seq: from 1
 * @sig: signature
 * @cmd: as the first local rank posted it
 * @agreed: as the first local rank posted it
 * @chosen: algorithm by the table of the group, 0: none
 * @table: digest of that table
 * @links: it goes over so many to each node
 * @elem: bytes of an element; 0 for a barrier
 * @bytes: length of the vector; the longest one where ranks have blocks
 * @reqs: posted requests by local index; group->lock until it has started
 * @nr_posted: how many; group->lock
 * @nr_absent: of these, of ranks that have joined
 * @divisor: as the first local rank posted it
 * @started: it has, and is still in group->ops; group->lock
 * @put_off: it could not, beside others; likewise
 * @ended: nothing touches it any more; group->lock
 * @result: 0 or -errno; fixed by who sets COLL_OPF_ENDING
 * @deadline: fails the group; holds @ref while armed
 * @expires: the earliest one, as coll_deadline() says, 0: none; group->lock
 * @end_work: ends the op, when a work item of coll_alarm_wq has dropped the last use
 * @exec: the schedule laid out; NULL before it runs
 */
struct coll_op {
	struct kref ref;
	atomic_t users;
	atomic_t lenders;
	unsigned long flags;
	struct list_head list;
	struct list_head todo;
	struct coll_group *group;
	u64 seq;
	u64 sig;
	struct coll_cmd cmd;
	u64 agreed;
	u16 chosen;
	u64 table;
	u32 links;
	u32 elem;
	u64 bytes;
	struct list_head reqs;
	u32 nr_posted;
	u32 nr_absent;
	u32 divisor;
	bool started;
	bool put_off;
	bool ended;
	int result;
	struct delayed_work deadline;
	u64 expires;
	struct work_struct end_work;
	struct coll_exec *exec;
};

/**
 * coll_op_post() - post one rank's part of its next op, or a message
 * @req: filled in by front
 *
 * Return: 0: @req->done is called exactly once, later or before this returns.
 * Negative: never, and the command does not count: -EAGAIN too many in flight,
 * -ENOMEM; or the group's sticky error.
 */
int coll_op_post(struct coll_req *req);

/* Memory for an op, for coll_op_post_ordered(); charged. NULL: there is none. */
struct coll_op *coll_op_alloc(gfp_t gfp);

/**
 * coll_op_post_ordered() - post a named collective, which counts already
 * @req: its turn has come
 * @spare: memory for an op, which is taken if it is needed
 *
 * Under group->lock; coll_group_check_doom() and coll_group_advance() are to follow without.
 * Return: 0; -EBADE: disagrees with what other local ranks posted.
 */
int coll_op_post_ordered(struct coll_req *req, struct coll_op **spare);

/**
 * coll_req_help() - work on the op of a request instead of sleeping
 * @req: posted, possibly done already
 * @w: worker that does it, until it is over; NULL: a caller
 *
 * Takes slices of an N-way sweep as long as there are any. The caller makes sure
 * that @req stays allocated.
 */
void coll_req_help(struct coll_req *req, struct coll_worker *w);

/**
 * coll_req_count() - a command is about to be in flight
 * @req: command; may have been counted
 *
 * A rank's first ones are free, the others count for the user. Under group->lock.
 * Return: 0, -ENOMEM: the user has as many in flight as are allowed.
 */
int coll_req_count(struct coll_req *req);

/* It is not in flight any more, or has not been posted. */
void coll_req_uncount(struct coll_req *req);

/* Is there anything coll_req_help() could do just now? */
bool coll_req_can_help(struct coll_req *req);

/**
 * coll_group_can_help() - is there anything coll_group_help() could do just now?
 * @g: group
 *
 * Who says that he is away, and asks after a full barrier, is told of all that has counted
 * on him.
 */
bool coll_group_can_help(struct coll_group *g);

/* Work on an op of a group that is open for that. @w: as of coll_req_help(). */
void coll_group_help(struct coll_group *g, struct coll_worker *w);

/* Give a request back that is complete: its buffers, then ->done. May be freed by it. */
void coll_req_done(struct coll_req *req, int result);

/* Start ops whose turn has come. Process context, no locks. */
void coll_group_advance(struct coll_group *g);

/**
 * coll_ops_running() - the running ops of a group, each with a use
 * @g: group
 * @ops: result, oldest first: room for COLL_RUNNING_MAX
 *
 * Not those that are ending: links that look again and again would keep them from their end
 * by turns. None of a group that has failed.
 * Return: how many.
 */
u32 coll_ops_running(struct coll_group *g, struct coll_op **ops);

/* The oldest running op of a group, under its lock; NULL if none runs. */
struct coll_op *coll_op_oldest(struct coll_group *g);

/* An op is out of the queue, whether it has started or not. Under group->lock. */
void coll_op_stopped(struct coll_group *g, struct coll_op *op);

/* An op, of which the caller has a use, is about to be open to all who help. */
void coll_op_share(struct coll_op *op);

/**
 * coll_op_use() - gain a use
 *
 * Return: false if the op has ended.
 */
static inline bool coll_op_use(struct coll_op *op)
{
	return atomic_inc_not_zero(&op->users);
}

/* Free one that is not in use, as of a group that goes. NULL is fine. */
void coll_op_discard(struct coll_op *op);

/*
 * Drop a use. The last one ends the op and may start the next one, which touches pages of
 * its user: process context, no locks.
 */
void coll_op_put_use(struct coll_op *op);

/*
 * The same for work items of coll_alarm_wq: where the end of the op may start the next one
 * it is queued on the user's queue.
 */
void coll_op_put_use_later(struct coll_op *op);

/**
 * coll_op_end() - fix the result of an op
 * @op: with a use held by the caller, or under group->lock
 * @result: 0 or -errno
 *
 * Return: true for the first call only: that caller owes a
 * coll_op_put_use() for the op's own use.
 */
bool coll_op_end(struct coll_op *op, int result);

/* No step may begin any more. */
static inline bool coll_op_ending(const struct coll_op *op)
{
	return test_bit(COLL_OPF_ENDING, &op->flags);
}

#endif /* COLL_CORE_OP_H */
