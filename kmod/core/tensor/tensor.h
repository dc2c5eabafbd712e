/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Named collectives (tensors): ranks post them in any order, and the coordinator of
 * kmod/pure/coord/coord_types.h starts each one when all ranks have posted it, in the same order on all
 * nodes.
 *
 * A tensor is
 *   WAITING  posted: in the table of the group, by name and local rank
 *   STARTED  the next op of its rank, by the order of the coordinator; see op.h. All local
 *            ranks get that op in one critical section, so the order of START is the order
 *            of ops
 *   DONE     its buffers are released; in member->tensors.done until it is collected
 * or goes from WAITING to DONE with an error, its own or the communicator's.
 *
 * group->lock protects the coordinator and all lists. What must not be done under it (put
 * buffers, start ops) is left to coll_tensors_settle().
 */
#ifndef COLL_CORE_TENSOR_H
#define COLL_CORE_TENSOR_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>

#include "../../pure/coord/coord_types.h"
#include "../group/fusion.h"
#include "../op/op.h"
#include "stall.h"

struct coll_group;
struct coll_member;

/**
 * struct coll_tensor_req - a named collective of one rank
 * @req: what it does; front fills it in
 * @tag: of the user
 * @op: memory for the op it starts, if it is the first one of its node; NULL: taken
 * @entry: its name
 * @list: in group->tensors->waiting, ->ended, or member->tensors.done; group->lock
 * @by_time: in group->tensors->by_time if @expires
 * @by_group: in member->tensors.groups while it waits, if it has a @group
 * @expires: as coll_deadline() says; 0: never
 * @bad: why it has ended by itself
 * @fused: of the first one of its rank in a fusion: the others
 * @group: digest of the group it belongs to; 0: of none
 * @last: of one that joins: the last rank that has
 * @result: 0 or -errno, once it has ended
 *
 * Owner: front, up to coll_tensor_post() and from coll_tensor_collect() on.
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
	struct coll_coord_bad bad;
	struct coll_fusion fused;
	u64 group;
	u32 last;
	int result;
};

/**
 * struct coll_tensor_counts - what has been done with tensors
 * @fused: tensors that have started in fusions
 * @fusions: ops of these
 * @copied: bytes of small ones that are copied from or to their ranks' memory
 */
struct coll_tensor_counts {
	u64 fused;
	u64 fusions;
	u64 copied;
};

/**
 * struct coll_tensors - named collectives of a group; all under group->lock
 * @coord: the coordinator of this node
 * @group: owner
 * @parent: node; of the root itself
 * @first_child: children are this node and the next ones in the order of the tree
 * @nr_children: how many
 * @waiting: tensors that have not started
 * @ended: tensors that have ended without being started, and whose buffers are to be put
 * @by_time: of @waiting, those with deadlines
 * @started: ops started
 * @fusing: a fusion has started, and more tensors of it are to come
 * @first: of a fusion that is being gathered: the first tensor of each local rank
 * @counts: for statistics
 * @to_advance: some of them since coll_group_advance()
 * @broken: errno of a START that could not be: the group is to fail
 * @deadline: for the first of @by_time
 * @work: coll_tensors_flush(), for those who cannot
 * @stalls: what is pending, for reports
 */
struct coll_tensors {
	struct coll_coord coord;
	struct coll_group *group;
	u32 parent;
	u32 first_child;
	u32 nr_children;
	struct list_head waiting;
	struct list_head ended;
	struct rb_root_cached by_time;
	u64 started;
	bool fusing;
	struct coll_tensor_req **first;
	struct coll_tensor_counts counts;
	bool to_advance;
	int broken;
	struct delayed_work deadline;
	struct work_struct work;
	struct coll_stalls stalls;
};

/* tensor.c */

extern const struct coll_group_part coll_tensors_part;

/* Memory for a tensor of @m. Return: zeroed but for ->req.member; NULL. */
struct coll_tensor_req *coll_tensor_alloc(struct coll_member *m);

/* Free one that has not been posted, or has been collected. */
void coll_tensor_free(struct coll_tensor_req *t);

#define COLL_TENSOR_OVER	1

/**
 * coll_tensor_post() - post a tensor
 * @t: with @req decoded and @tag set
 * @name: name
 * @len: its bytes
 * @p: parameters
 *
 * coll_tensors_flush() is to follow, after one or several. Return: 0: it will be collected;
 * COLL_TENSOR_OVER: so it will, but it had ended before this rank posted it.
 * Otherwise nothing has been posted: as COLL_IOC_TENSOR_POST. Sleeps.
 */
int coll_tensor_post(struct coll_tensor_req *t, const void *name, u32 len,
		     const struct coll_coord_params *p);

/**
 * coll_tensors_withdraw() - a member of a group has been refused
 * @m: of this rank
 * @digest: of the group, not 0
 *
 * What the rank has posted of it, and has not started, ends. coll_tensors_flush() is to follow.
 */
void coll_tensors_withdraw(struct coll_member *m, u64 digest);

/* It is done: coll_req.done of tensors. */
void coll_tensor_done(struct coll_req *req, int result);

/* Order what is ready, start it, tell other nodes. Process context, no locks. */
void coll_tensors_flush(struct coll_group *g);

/**
 * coll_tensors_settle() - do what could not be done under group->lock
 * @g: group
 *
 * Ends what has ended, starts ops, fails the group if a rank has left that others wait
 * for. Process context, no locks.
 */
void coll_tensors_settle(struct coll_group *g);

/* Is there anything to settle? Any context. */
bool coll_tensors_due(struct coll_group *g);

/**
 * coll_tensors_collect() - the results that have come first
 * @m: member
 * @to: list of tensors that they are added to: the caller's now
 * @most: how many at most
 *
 * Return: how many; there may be more.
 */
u32 coll_tensors_collect(struct coll_member *m, struct list_head *to, u32 most);

/* They could not be told: the next ones to be collected. */
void coll_tensors_uncollect(struct coll_member *m, struct list_head *from);

/* Are there @min results, or is nothing posted that has not ended? */
bool coll_tensors_collectable(struct coll_member *m, u32 min);

/* The same, as far as can be seen without the lock: for who looks again and again. */
bool coll_tensors_seem_collectable(const struct coll_member *m, u32 min);

/* Has the member posted tensors whose buffers are still in use? */
bool coll_tensors_open(struct coll_member *m);

/* Wait until there is none, and free all results. The file goes. Sleeps. */
void coll_tensors_release(struct coll_member *m);

/* An entry for a name, charged to the group. Sleeps. NULL: no memory, or too many names. */
struct coll_coord_entry *coll_tensor_entry(struct coll_group *g);
void coll_tensor_entry_free(struct coll_group *g, struct coll_coord_entry *e);

/* tensor_join.c */

/**
 * coll_tensor_join() - post nothing more until all ranks have joined
 * @t: with @tag set, and no command
 *
 * coll_tensors_flush() is to follow. Return: 0: it will be collected when all have. Otherwise
 * it has not joined: -EBUSY it has already; -EAGAIN, or the group's sticky error.
 */
int coll_tensor_join(struct coll_tensor_req *t);

/* tensor_talk.c */

/* Where this node is in the tree. */
void coll_tensors_plant(struct coll_tensors *ts);

/* Are there links to the nodes that this one talks to? */
bool coll_tensors_linked(struct coll_group *g);

/* Wake the links to nodes that are to be told something. Any context, no locks. */
void coll_tensors_call(struct coll_group *g);

/**
 * coll_tensors_say() - records for another node
 * @g: group
 * @node: node
 * @buf: room
 * @room: COLL_WIRE_TENSOR_MAX
 *
 * They count as sent. Return: bytes; 0: there is nothing to say.
 */
u32 coll_tensors_say(struct coll_group *g, u32 node, u8 *buf, u32 room);

/**
 * coll_tensors_hear() - records of another node
 * @g: group
 * @node: node
 * @buf: records
 * @len: their bytes
 *
 * Process context; may be under a socket lock. Return: 0, or -EPROTO: this cannot be.
 */
int coll_tensors_hear(struct coll_group *g, u32 node, const u8 *buf, u32 len);

#endif /* COLL_CORE_TENSOR_H */
