/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ops: an op is one collective on this node. This file has the part that every room uses;
 * op/op.h has the functions that post an op.
 *
 * Life: enum coll_op_state, under group->lock. In addition, COLL_OPF_ENDING is set without the
 * lock, in any state before the end, by the last step or by a failure, whichever is first. It
 * fixes ->result. When ->refs is zero nothing touches the pages of the op any more. When the ops
 * before it have gone, buffers are put, each request is completed exactly once, and the op is
 * freed.
 *
 * A thread that reads or writes an op's pages or steps holds a ref. The first ref belongs to the
 * op itself and is dropped when COLL_OPF_ENDING gets set. A ref is only taken while the count
 * is not zero.
 */
#ifndef COLL_CORE_OP_STATE_H
#define COLL_CORE_OP_STATE_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/workqueue.h>

#include <linux/coll.h>

#include "../limits.h"
#include "../mem/reduce.h"
#include "group.h"

struct coll_exec;
struct coll_req;

/**
 * enum coll_op_state - state of an op in group->ops; see coll_op_set_state()
 * @COLL_OP_POSTED: some local ranks have posted it, or all have and it waits for its turn
 * @COLL_OP_DEFERRED: it could not start while other ops ran, and waits until they have ended
 * @COLL_OP_RUNNING: it has started, and counts in group->nr_running
 * @COLL_OP_ENDED: nothing touches it any more; it still counts
 * @COLL_OP_DROPPED: nothing touches it any more, and it never ran
 * @COLL_OP_GONE: out of group->ops
 */
enum coll_op_state {
	COLL_OP_POSTED,
	COLL_OP_DEFERRED,
	COLL_OP_RUNNING,
	COLL_OP_ENDED,
	COLL_OP_DROPPED,
	COLL_OP_GONE,
};

/* struct coll_op.flags: bit numbers */
#define COLL_OPF_ENDING	0

/**
 * struct coll_op - see the top of this file
 * @memory: references to the memory, held by the op itself and by an armed deadline
 * @refs: refs of threads that use pages or steps; 0: the op has ended
 * @zc_links: number of links that send its pages without a copy, so that it may end much later
 * @flags: COLL_OPF_*
 * @list: in group->ops; group->lock
 * @todo: in the list of the thread that ends all ops after a failure
 * @group: with a reference
 * @seq: number of the op, from 1
 * @sig: signature
 * @cmd: as the first local rank posted it; of a fusion, with the count of all
 * @agreed: as the first local rank posted it; of a fusion, for all
 * @chosen: algorithm by the table of the group, 0: none
 * @table: digest of that table
 * @links: number of links to each node that it uses
 * @elem: bytes of an element; 0 for a barrier
 * @bytes: length of the vector; if ranks have blocks, of the longest vector
 * @reqs: posted requests by local index; group->lock until it has started
 * @nr_posted: number of @reqs; group->lock
 * @nr_absent: requests that stand in for ranks that have joined; they count in @nr_posted
 * @fused: the op consists of several tensors
 * @weight: as the first local rank posted it
 * @divisor: as the first local rank posted it
 * @scaling: as the first local rank posted it
 * @state: group->lock
 * @result: 0 or -errno; fixed by the setter of COLL_OPF_ENDING
 * @deadline: fails the group; holds a reference (@memory) while armed
 * @expires: the earliest deadline of its requests, by coll_deadline(); 0: none; group->lock
 * @grace: the deadline has passed, and @expires is COLL_OP_GRACE after it; group->lock
 * @end_work: ends the op, when coll_op_put_later() has dropped the last ref
 * @exec: the laid out schedule; NULL before the op runs
 * @on_complete: coll_op_ended(): called once, by the thread that drops the last ref. It is a
 *	pointer because this room must not call op/. Process context, no spinlocks. The caller
 *	may hold a conn->lock and the lock of a socket, so these must not be taken.
 */
struct coll_op {
	struct kref memory;
	atomic_t refs;
	atomic_t zc_links;
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
	bool fused;
	u32 divisor;
	struct coll_scaling scaling;
	u64 weight;
	enum coll_op_state state;
	int result;
	struct delayed_work deadline;
	u64 expires;
	bool grace;
	struct work_struct end_work;
	struct coll_exec *exec;
	void (*on_complete)(struct coll_op *op);
};

/* May it run beside a large op and end before it, see coll_ops_overtake()? */
static inline bool coll_op_is_small(const struct coll_op *op)
{
	return op->bytes <= COLL_URGENT_OP;
}

/**
 * coll_op_tryget() - get a ref, if the op has not ended
 *
 * Return: false if the op has ended.
 */
static inline bool coll_op_tryget(struct coll_op *op)
{
	return atomic_inc_not_zero(&op->refs);
}

/*
 * Drop a ref. The last one completes the op (coll_op_ended() of op/op.c), which may start the
 * next op. That reads and writes user pages: see @on_complete.
 */
static inline void coll_op_put(struct coll_op *op)
{
	if (atomic_dec_and_test(&op->refs))
		op->on_complete(op);
}

/**
 * coll_op_end() - fix the result of an op
 * @op: with a ref held by the caller, or under group->lock
 * @result: 0 or -errno
 *
 * Return: true for the first call only: that caller owes a
 * coll_op_put() for the op's own ref.
 */
static inline bool coll_op_end(struct coll_op *op, int result)
{
	if (test_and_set_bit(COLL_OPF_ENDING, &op->flags))
		return false;
	op->result = result;
	return true;
}

/* No step may begin any more. */
static inline bool coll_op_ending(const struct coll_op *op)
{
	return test_bit(COLL_OPF_ENDING, &op->flags);
}

/* The op runs, or has run and waits for the ops before it. Under group->lock. */
static inline bool coll_op_has_started(const struct coll_op *op)
{
	lockdep_assert_held(&op->group->lock);
	return op->state == COLL_OP_RUNNING || op->state == COLL_OP_ENDED;
}

/* The oldest running op of a group, under its lock; NULL if none runs. */
static inline struct coll_op *coll_op_oldest(struct coll_group *g)
{
	struct coll_op *op;

	lockdep_assert_held(&g->lock);
	op = list_first_entry_or_null(&g->ops, struct coll_op, list);
	return op && coll_op_has_started(op) ? op : NULL;
}

#endif /* COLL_CORE_OP_STATE_H */
