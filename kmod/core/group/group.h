/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups: the ranks of one communicator on one node, and their agent.
 *
 * Owners:
 *   file -> member -> group -> links -> conn (shared) -> streams (sockets)
 *                     group -> ops -> requests (one per posted member)
 *                     group -> messages -> requests (see p2p/state.h)
 * A member holds a reference to its group from join to the release of its file. An op holds one
 * from its first post to its end, and so does a message. The last reference queues the reaping
 * work, which may sleep for the links' work.
 *
 * Teardown, in this order
 *   1. the member leaves: if others have posted an op that it has not posted, the
 *      group fails; else the other nodes are told its last op (BYE). If it had
 *      pending ops, coll_member_gone() has failed the group before.
 *   2. every op ends: its refs drop to zero, pages are unpinned, requests are
 *      completed, once each
 *   3. the last reference is dropped: callbacks are removed from the sockets, works
 *      of links are cancelled, sockets are put, memory is freed
 *
 * Lock order, outermost first
 *   member->setup      setup verbs of one file
 *   coll_groups_lock   the tree of groups; joins
 *   conn->lock         the work of a connection, or its watcher; its streams and channels
 *   socket lock        held by tcp_read_sock() around our receive actor
 *   mmap_lock          of a window's address space
 *   group->lock        see the parts of struct coll_group; a spinlock, never held
 *                      across a sweep, a callback to front or a socket call
 * Socket callbacks (softirq) take sk_callback_lock, and queue work or wake the watcher:
 * conn->watch_lock, and the lock of its wait queue. Completions of ubufs do the same under
 * conn->ubuf_lock.
 */
#ifndef COLL_CORE_GROUP_H
#define COLL_CORE_GROUP_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include <linux/coll.h>

#include "../user.h"
#include "last_cpu.h"

struct coll_link;
struct coll_member;
struct coll_msgs;
struct coll_op;
struct coll_shared;
struct coll_table;
struct coll_tensors;

/**
 * struct coll_stripes - how a large op is cut into parts; the same on all nodes
 * @links: the most parts
 * @least: the least bytes of a part
 */
struct coll_stripes {
	u32 links;
	u64 least;
};

/**
 * struct coll_left - a rank that has left in order
 * @rank: the rank
 * @orders: of named collectives: number of the last order that its node had applied before, see
 *	coll_coord.serial; else 0
 * @seq: last op it takes part in
 */
struct coll_left {
	u32 rank;
	u32 orders;
	u64 seq;
};

/**
 * struct coll_group - see the top of this file
 * @ref: members, ops, and readers of its state
 * @by_serial: in coll_groups, while any member is there; coll_groups_lock
 * @serial: number of this group among all that were ever in coll_groups, which is sorted by it
 * @by_key: in coll_groups_by_key, for as long as in coll_groups; coll_groups_lock
 * @id: number for netlink and traces; unique while the group lives, and not used again soon
 * @key: of the communicator
 * @uid: owner; others may not join
 * @user: shared by all groups of @uid, or of the owner of its user namespace, referenced; the work of
 *	this group runs on its queues
 * @counted: it counts in @user->groups; under coll_groups_lock, or nobody else knows the group
 * @size: ranks
 * @node: this node
 * @nr_nodes: nodes
 * @epoch: incarnation
 * @nr_local: ranks of this node
 * @most_local: largest number of ranks on one node
 * @map: coll_wire_map(): nodes whose ranks were given other maps would make other schedules
 * @memcg: that of the first rank to join. Schedules and scratch of all ranks are charged to it.
 * @early: bytes of frames and offers that came before they were needed; atomic
 * @node_of: node of each rank
 * @local_rank: rank of each local index, ascending
 * @host: host name, for causes
 * @lock: see the parts of the structure
 * @members: by local index; NULL: not joined, or left
 * @nr_joined: number of @members that are not NULL
 * @nr_came: members that have ever joined
 * @error: 0, or the sticky positive errno; may be read without the lock
 * @cause: cause of @error
 * @first_open: number of the first op that had not ended when the group failed
 * @failing: ends ops and messages in flight, after coll_group_failed_soon(); has a reference
 * @pending_failure: a failure that waits for the ops before its ->seq to end; ->kind 0: none
 * @ops: posted and not ended, by seq
 * @spare: memory of an ended op, for the next one; NULL: none
 * @nr_running: number of ops that have started and not ended
 * @running_bytes: lengths of their vectors
 * @running_memory: kernel memory of running ops that started while others ran
 * @nr_open: number of running ops that any rank may help with
 * @plans: plans of ended ops, last used first
 * @nr_plans: number of @plans
 * @advancing: a thread is starting ops; see coll_ops_advance()
 * @completing: a thread is completing ended ops, in order
 * @go_on: starts and completes ops, after a thread has done so for long; has a reference
 * @started: ops started
 * @ended: ops ended
 * @ended_well: ops that ended with result 0
 * @bytes: payload of ended ops
 * @work_ns: nanoseconds of workers; see account.h
 * @call_ns: nanoseconds of its ranks in system calls and progress threads
 * @remote_left: the remote rank that left earliest
 * @local_left: local ranks that left, in that order; the first @nr_left
 * @nr_left: number of @local_left
 * @last_cpus: of each local rank, by local index; see last_cpu.h
 * @memlock_wanted: see struct coll_status
 * @msgs: state of send, recv and sendrecv
 * @tensors: named collectives; NULL: the group has numbered ones
 * @watch: functions to be called when an op has ended; NULL: none
 * @shared: memory that the ranks of this node share, see shm.h; NULL: none
 * @tables: which algorithm COLL_ALG_AUTO selects, by collective; NULL: the default one
 * @stall: checks now and then whether the oldest running op is still the same one
 * @stall_seq: the oldest running op at the last check
 * @stall_delay: jiffies until the next check
 * @announced_seq: the op that is announced to the peers (POST), because it takes long
 * @announced_sig: its signature
 * @stripes: see coll_group_stripe()
 * @links: by number and node; each is set once, and freed by the reaper only
 * @nr_links: the largest number of links to one node; it only grows
 * @reap: last step of teardown; queues itself while links linger, and holds no worker
 * @reap_delay: jiffies until @reap runs again; 0: it has not run yet
 * @reaped: jiffies when the last reference was dropped: the limits of waits for links count from it
 */
struct coll_group {
	/* References, and coll_groups: protected by coll_groups_lock */
	struct kref ref;
	struct rb_node by_serial;
	u64 serial;
	struct hlist_node by_key;

	/* Identity: constant once the group is in coll_groups */
	u32 id;
	u8 key[COLL_KEY_SIZE];
	kuid_t uid;
	struct coll_user *user;
	bool counted;
	u32 size;
	u32 node;
	u32 nr_nodes;
	u32 epoch;
	u32 nr_local;
	u32 most_local;
	u32 map;
	struct mem_cgroup *memcg;
	struct coll_early early;
	u32 *node_of;
	u32 *local_rank;
	char host[COLL_HOST_SIZE];

	spinlock_t lock;

	/* Ranks of this node: protected by @lock */
	struct coll_member **members;
	u32 nr_joined;
	u32 nr_came;

	/* Failure: protected by @lock; @error may be read without it */
	int error;
	struct coll_cause cause;
	u64 first_open;
	struct coll_cause pending_failure;
	struct work_struct failing;

	/* Ops and plans: protected by @lock; @nr_running and @nr_open may be read without it */
	struct list_head ops;
	struct coll_op *spare;
	u32 nr_running;
	u64 running_bytes;
	u64 running_memory;
	u32 nr_open;
	struct list_head plans;
	u32 nr_plans;
	bool advancing;
	bool completing;
	struct work_struct go_on;

	/* Counters: protected by @lock; the times need no lock */
	u64 started;
	u64 ended;
	u64 ended_well;
	u64 bytes;
	atomic64_t work_ns;
	atomic64_t call_ns;

	/* Ranks that have left: protected by @lock */
	struct coll_left remote_left;
	struct coll_left *local_left;
	u32 nr_left;

	/* CPUs and memory limit of the ranks of this node: protected by @lock */
	struct coll_last_cpu *last_cpus;
	u64 memlock_wanted;

	/* State of other rooms: set while the group is new; each room documents its own lock */
	struct coll_msgs *msgs;
	struct coll_tensors *tensors;
	const struct coll_group_watch *watch;

	/* Shared memory: set once, cleared when the last reference has gone; protected by @lock */
	struct coll_shared *shared;

	/* Choice of algorithms: protected by @lock */
	struct coll_table *tables[COLL_NR_COLLECTIVES];

	/* The oldest op: @stall_seq belongs to @stall, @stall_delay is a hint, others: @lock */
	struct delayed_work stall;
	u64 stall_seq;
	unsigned long stall_delay;
	u64 announced_seq;
	u64 announced_sig;

	/* Links: set under @lock, with release; @nr_links may be read without it */
	struct coll_stripes stripes;
	struct coll_link **links;
	u32 nr_links;

	/* Teardown: belongs to the work item @reap, once the last reference has gone */
	struct delayed_work reap;
	unsigned long reap_delay;
	unsigned long reaped;
};

/**
 * struct coll_join_args - a join, checked and copied from user space
 * @join: the command
 * @node_of: node of each rank
 * @uid: of the caller
 * @payer: whose limits and queues apply
 */
struct coll_join_args {
	struct coll_join join;
	u32 *node_of;
	kuid_t uid;
	kuid_t payer;
};

/**
 * struct coll_group_part - callbacks of another room that has state in each group
 * @init: a group is being made; no other thread knows it. @flags: COLL_JOIN_*. Return: 0, -errno
 * @leaving_locked: a rank of this node will post no more; adds to @l what other nodes are told. Under
 *	group->lock.
 * @left: a rank will post no more
 * @failing_locked: ->error has just been set. Under group->lock.
 * @fail: the group has failed, and its ops have ended
 * @quiesce: the last reference has gone; cancel work that may still be queued. Links may
 *	linger for long after this. May sleep.
 * @free: free the memory of @init and later calls; also called if @init failed or never ran
 *
 * Any of them may be NULL. All are called in process context. Those whose name does not end in
 * _locked are called without locks.
 */
struct coll_group_part {
	int (*init)(struct coll_group *g, u32 flags);
	void (*leaving_locked)(struct coll_group *g, struct coll_left *l);
	void (*left)(struct coll_group *g, u32 rank);
	void (*failing_locked)(struct coll_group *g);
	void (*fail)(struct coll_group *g);
	void (*quiesce)(struct coll_group *g);
	void (*free)(struct coll_group *g);
};

/**
 * struct coll_group_watch - callbacks of a room that needs to know when ops end
 * @over: an op has left the queue. Under group->lock.
 * @again: the next op takes long to prepare: call coll_ops_advance() by a work item. Process
 *	context, no locks.
 * @after: called after one or several calls of @over. Process context, no locks.
 * @hands: an op is open to helpers. Wake ranks that wait, which help with it. Return: number of
 *	threads of ranks that help or are about to. When they have gone, or have helped with
 *	a @large op for long, coll_group_staff() is called. 0: the caller has to queue workers.
 *	Process context, no locks.
 */
struct coll_group_watch {
	void (*over)(struct coll_group *g, const struct coll_op *op);
	void (*again)(struct coll_group *g);
	void (*after)(struct coll_group *g);
	u32 (*hands)(struct coll_group *g, bool large);
};

/**
 * coll_group_init() - before any group is made
 * @parts: of the rooms above, ended by NULL; called in this order, and ->free() in reverse
 *
 * Return: 0 or -ENOMEM.
 */
int coll_group_init(const struct coll_group_part *const *parts);
void coll_group_exit(void);

/**
 * coll_group_join() - put a member into its group, which is made if there is none yet
 * @m: member without a group
 * @args: see struct coll_join_args
 *
 * Return: 0 and m->group, m->rank, m->local set; or as COLL_IOC_JOIN.
 */
int coll_group_join(struct coll_member *m, struct coll_join_args *args);

/**
 * coll_group_leave() - a member goes, its file is being released
 * @m: member with a group
 *
 * Drops the member's reference. No request of it is pending any more.
 */
void coll_group_leave(struct coll_member *m);

/**
 * coll_group_time_oldest() - an op that needs other nodes has started
 *
 * If it takes long, the peers are told its signature. So ranks that wait for each other because
 * their commands differ find this out, whatever their schedules are.
 */
void coll_group_time_oldest(struct coll_group *g);

/* Another op may be the oldest one now: check it soon, if the op before it has taken long. */
void coll_group_time_next_oldest(struct coll_group *g);

/**
 * coll_groups_end() - the number that the next group gets
 *
 * With this @end coll_groups_for_each() ends, however fast users make groups.
 */
u64 coll_groups_end(void);

/**
 * coll_groups_for_each() - walk all groups
 * @serial: skip groups with a smaller number
 * @end: skip groups with this number or a larger one
 * @locked: members neither come nor go during a call of @fn
 * @fn: called with a reference to the group
 * @arg: for @fn
 *
 * Other threads may join and leave between two calls. Stops when @fn returns non-zero.
 * Return: what @fn returned last; 0: there is no group.
 */
int coll_groups_for_each(u64 serial, u64 end, bool locked,
			 int (*fn)(struct coll_group *g, void *arg), void *arg);

/* Note how many bytes of locked memory an op needs: for status, and once in the log. */
void coll_group_note_memlock(struct coll_group *g, u64 wanted);

#endif /* COLL_CORE_GROUP_H */
