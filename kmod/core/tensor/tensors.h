/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Named collectives (tensors): ranks post them in any order, and the coordinator
 * (kmod/pure/coord/coord_types.h) starts each one when all ranks have posted it, in the same
 * order on all nodes.
 *
 * A tensor is
 *   WAITING  posted: in the table of the group, by name and local rank
 *   STARTED  the next op of its rank, by the order of the coordinator; see op.h. All local
 *            ranks get that op in one critical section, so the order of START is the order
 *            of ops
 *   DONE     its buffers are released; in member->tensors.done until it is collected
 * or goes from WAITING to DONE with an error, its own or the communicator's.
 *
 * group->lock protects the coordinator and all lists. Work that must not run under it (put
 * buffers, start ops) is left to coll_tensors_settle().
 */
#ifndef COLL_CORE_TENSORS_H
#define COLL_CORE_TENSORS_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/rbtree.h>
#include <linux/siphash.h>
#include <linux/workqueue.h>

#include "../../pure/coord/coord_types.h"
#include "../group/fusion.h"
#include "../op/op.h"
#include "stall.h"

struct coll_group;
struct coll_member;

/* Tensors that are worked on before others get the lock, or the CPU. */
#define COLL_TENSOR_BATCH	64
/* With more local ranks, fewer tensors are handled in one critical section. */
#define COLL_TENSOR_LOCAL	64

/* Time that other nodes have to answer a rank that has given a tensor up, or refused it */
#define COLL_TENSOR_ANSWER_NS	(5 * (u64)NSEC_PER_SEC)

/**
 * struct coll_tensor_req - a named collective of one rank
 * @req: what it does; front fills it in
 * @tag: of the user
 * @op: memory for the op it starts, if it is the first one of its node; NULL: taken
 * @entry: its name
 * @list: in group->tensors->waiting, ->ended, or member->tensors.done; group->lock
 * @by_time: in group->tensors->by_time if @expires, ordered by @alarm
 * @by_group: in member->tensors.groups while it waits, if it has a @group
 * @expires: as coll_deadline() says; 0: never
 * @alarm: @expires; after @gave_up: the time by which the coordinator has to answer
 * @bad: why it has ended by itself
 * @fused: of the first tensor of its rank in a fusion: the fusion
 * @group: digest of the group it belongs to; 0: of none
 * @call: number of the call that has posted it
 * @last: of a join: the rank that joined last
 * @result: 0 or -errno, once it has ended
 * @gave_up: its deadline has passed, and the coordinator has been told
 * @landed: this tensor is the first one of a fusion. It is over and its result has been given, but the
 *	op of the fusion still runs; group->lock
 * @memory: references to the memory: of the owner, and of the op while @landed is set
 *
 * Owner: front, up to coll_tensor_post() and from coll_tensors_collect() on.
 */
struct coll_tensor_req {
	struct coll_req req;
	u64 tag;
	struct coll_op *op;
	struct coll_coord_entry *entry;
	struct list_head list;
	struct rb_node by_time;
	struct rb_node by_group;
	u64 expires;
	u64 alarm;
	struct coll_coord_bad bad;
	struct coll_fusion fused;
	u64 group;
	u64 call;
	u32 last;
	int result;
	bool gave_up;
	bool landed;
	struct kref memory;
};

/**
 * struct coll_tensors_waiter - a wait for results of a rank
 * @min: how many it wants
 * @hand: it is a thread, and helps with ops meanwhile; false: a wait of io_uring
 * @done: there are @min results, or all posted tensors have ended. The thread then leaves the work it
 *	is doing to others. For member->tensors.waiter it is set as soon as this becomes true; for
 *	other waiters only when they call coll_tensors_wait_over(). Written under group->lock.
 */
struct coll_tensors_waiter {
	u32 min;
	bool hand;
	bool done;
};

/**
 * struct coll_tensor_counts - what has been done with tensors
 * @fused: tensors that have started in fusions
 * @fusions: number of fusions
 * @early: tensors, of each rank, that have ended before their fusions
 * @copied: bytes of small ones that are copied from or to their ranks' memory
 */
struct coll_tensor_counts {
	u64 fused;
	u64 fusions;
	u64 early;
	u64 copied;
};

/**
 * struct coll_tensors - named collectives of a group; all under group->lock
 * @coord: the coordinator of this node
 * @key: of the hash of names; random
 * @group: owner
 * @parent: parent node; the root is its own parent
 * @parent_left: number of ranks of the parent that have left
 * @first_child: place of the first child in the tree; the other children have the next places
 * @nr_children: number of children
 * @waiting: tensors that have not started
 * @ended: tensors that have ended without being started, and whose buffers are to be put
 * @by_time: of @waiting, those with deadlines
 * @started: ops started
 * @fusing: a fusion has started, and more tensors of it are to come
 * @fuse_expires: when the last one of them has to be there; 0: not @fusing
 * @first: of a fusion that is being gathered: the first tensor of each local rank
 * @counts: for statistics
 * @to_advance: ops have started since coll_ops_advance() was called
 * @broken: errno of a START that could not be applied: the group fails with it. It is never cleared.
 * @deadline: for the first of @by_time
 * @work: for callers that may not run coll_tensors_flush(). It runs one round of that, and is queued
 *	again while there is more to do
 * @stalls: what is pending, for reports
 * @hands: threads that wait, and posts that have begun, on one node; see tensor_hands.h
 * @posts: of @hands, posts that have begun
 * @staff: queues workers that an op has not got because of @hands; armed under group->lock
 * @staff_by: jiffies when @staff queues workers although there are @hands
 */
struct coll_tensors {
	struct coll_coord coord;
	siphash_key_t key;
	struct coll_group *group;
	u32 parent;
	u32 parent_left;
	u32 first_child;
	u32 nr_children;
	struct list_head waiting;
	struct list_head ended;
	struct rb_root_cached by_time;
	u64 started;
	bool fusing;
	u64 fuse_expires;
	struct coll_tensor_req **first;
	struct coll_tensor_counts counts;
	bool to_advance;
	int broken;
	struct delayed_work deadline;
	struct work_struct work;
	struct coll_stalls stalls;
	u32 hands;
	u32 posts;
	struct delayed_work staff;
	unsigned long staff_by;
};

/**
 * struct coll_tensor_slot - a local rank and a name
 * @waits: tensor that the rank has posted, while this tensor waits
 * @posted: it has posted the name at least once
 * @refused: it could not post it as a member of a group, and this round has not ended
 */
struct coll_tensor_slot {
	struct coll_tensor_req *waits;
	bool posted;
	bool refused;
};

/**
 * struct coll_tensor_name - what the kernel keeps of a name; coll_coord_entry.user
 * @entry: that name; the rest up to @slots is valid while it is pending
 * @list: in group->tensors->stalls
 * @since: when it became pending on this node, ns
 * @serial: see struct coll_stall
 * @slots: by local rank
 */
struct coll_tensor_name {
	struct coll_coord_entry *entry;
	struct list_head list;
	u64 since;
	u64 serial;
	struct coll_tensor_slot slots[];
};

/* The slot of a local rank and a name. */
static inline struct coll_tensor_slot *coll_tensor_slot(struct coll_coord_entry *e, u32 local)
{
	struct coll_tensor_name *n = e->user;

	return &n->slots[local];
}

/*
 * How many tensors the root may start or end in one critical section. Each takes time for all local
 * ranks: @nr for up to COLL_TENSOR_LOCAL ranks, fewer for more. Mostly, other nodes have as many
 * local ranks.
 */
static inline u32 coll_tensors_bound(u32 nr, u32 nr_local)
{
	return max_t(u32, nr * COLL_TENSOR_LOCAL / max_t(u32, nr_local, COLL_TENSOR_LOCAL), 1);
}

#endif /* COLL_CORE_TENSORS_H */
