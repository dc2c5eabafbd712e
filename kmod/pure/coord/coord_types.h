/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The coordinator: ranks submit named tensors in any order, and all nodes start them in
 * the same order, each when every rank has submitted it.
 *
 * The nodes of a communicator form a tree; its root is the agent. Each node has a struct
 * coll_coord. A tensor is ready at a node when every rank of the node has submitted it, and it
 * is ready in all subtrees of the node's children. The node says so to its parent once (READY).
 * The root orders the tensors that are ready there: it appends START to the log of orders, and
 * each node applies the orders in the order of the log and passes them on to its children. So
 * all nodes start the same tensors in the same order. Nothing is sent otherwise, and nothing
 * runs by a clock.
 *
 * The same name may be submitted again when it has ended. Each order about a name ends a
 * round of it; all nodes count these rounds, and what is said about a round that is over
 * is ignored.
 *
 * A tensor that cannot be started (ranks disagree about its parameters, a deadline passed)
 * is ended by the order BAD, on all nodes, instead of START. The communicator goes on.
 *
 * Records are the messages of the protocol. This code makes them when it is asked for the
 * next one, so it needs no memory for a queue, and what is not yet sent is put together.
 *
 * All calls about one coordinator are serialized by the caller. No call sleeps or
 * allocates: memory for names is handed in. Nothing in here trusts a record.
 *
 * Compared with Horovod: READY is its request and, with an id, a bit of its response
 * cache; START is its response; the tree is its bit-wise AND.
 */
#ifndef COLL_PURE_COORD_TYPES_H
#define COLL_PURE_COORD_TYPES_H

#include "../chain.h"
#include "../env.h"
#include "coord_tree.h"

/* Bytes of a name. */
#define COLL_COORD_NAME_MAX	COLL_TENSOR_NAME_MAX
#define COLL_COORD_DIMS		COLL_TENSOR_DIMS
#define COLL_COORD_PRIORITY_MAX	COLL_TENSOR_PRIORITY_MAX

/* By enum coll_tensor_field. */
struct coll_coord_params {
	u64 field[COLL_NR_FIELDS];
};

/**
 * struct coll_coord_bad - why a tensor has ended
 * @cause: enum coll_tensor_cause; COLL_BAD_NONE: it has not
 * @field: MISMATCH: enum coll_tensor_field
 * @rank: MISMATCH: two ranks that disagree. Otherwise the first one is the rank whose
 *	deadline has passed, or that has left
 * @value: MISMATCH: what each of them has in the field
 * @group: digests of groups that end with it, 0: none
 */
struct coll_coord_bad {
	u32 cause;
	u32 field;
	u32 rank[2];
	u64 value[2];
	u64 group[2];
};

/* Kinds of orders, and of records to the parent. */
enum coll_coord_kind {
	COLL_ORDER_START	= 1,	/* start the tensor */
	COLL_ORDER_BAD		= 2,	/* end it */
	COLL_ORDER_JOINED	= 3,	/* all ranks have joined */
	COLL_ORDER_LEFT		= 4,	/* a rank has left: everything pending ends */
	COLL_READY		= 5,	/* to the parent: ready in this subtree */
	COLL_FAIL		= 6,	/* to the parent: end it by a BAD */
	COLL_JOIN		= 7,	/* to the parent: this subtree has joined */
	COLL_LEAVE		= 8,	/* to the parent: a rank leaves */
	COLL_GOT		= 9,	/* to the parent: orders that this subtree has received */
	COLL_NR_KINDS
};

struct coll_coord_entry;

/**
 * struct coll_coord_order - an order in the log of a node, until all children have it
 * @link: in coll_coord.log
 * @entry: what it is about; NULL: all
 * @waiting: bit n: child n has not been sent it
 * @kind: COLL_ORDER_*
 * @last: START: the next one does not belong to the same fusion
 * @full: START: with name and parameters, which nodes may not know
 * @serial: number of the order: the root numbers all orders from 1 on
 * @round: of the entry
 * @rank: JOINED: the last one to join. LEFT: the rank that has left
 * @contributors: START: ranks that have submitted it
 * @bad: BAD: why
 */
struct coll_coord_order {
	struct coll_chain link;
	struct coll_coord_entry *entry;
	u64 serial;
	u32 waiting;
	u8 kind;
	bool last;
	bool full;
	u32 round;
	u32 rank;
	u32 contributors;
	struct coll_coord_bad bad;
};

/**
 * struct coll_coord_entry - a name
 * @by_name: next in the hash chain of names
 * @by_id: next in the hash chain of ids
 * @hash: of the name
 * @id: from the root, from 1 on; 0: it has none yet
 * @round: orders about it that this node has applied
 * @known: parameters with which it was last started; only valid if @is_known
 * @want: what the first rank that has submitted it asks for; only valid if @is_wanted
 * @want_rank: that rank
 * @bad: ranks disagree; reported when all have submitted it
 * @failing: it is to be ended, although not all have submitted it
 * @children: bit n: it is ready in the subtree of child n
 * @contributors: ranks of the subtree that have submitted it
 * @is_known: see @known
 * @is_wanted: see @want
 * @said: it is ready here; the parent has been told, or is about to be
 * @with_joined: some rank had joined instead of submitting it
 * @pending: in coll_coord.pending, while somebody has submitted it
 * @by_group: in coll_coord.groups meanwhile, if it belongs to a group and is neither @failing nor
 *	@going
 * @edge: if it is the first entry of its group in that list: the last one; if the last one: the
 *	first one; else NULL
 * @opens: it is the first entry of its group there
 * @leads: at the root: it is the one of its group in coll_coord.held
 * @whole: at the root: all of its group are ready
 * @going: at the root: another member of its group starts, so it starts as well
 * @starting: at the root: it is in coll_coord.fusion
 * @up: in coll_coord.up, while the parent is to be told something
 * @ready: at the root, in coll_coord.fresh, .ready, .failed, .held, .fusion or .others, or in
 *	@members of one in .held
 * @members: at the root, those of its group that are ready, but for this one
 * @nr_members: number of ready tensors of its group: those in @members, and this one
 * @forgiven: coll_coord.forgiven when the counts behind @ranks were cleared last
 * @start: its last START
 * @end: its last BAD. Both may be in the log: a child may have missed the START of a tensor
 *	that has ended elsewhere, has been submitted again, and has failed.
 * @user: the caller's
 * @name_len: bytes of @name
 * @name: not terminated
 * @ranks: bitmap of local ranks that have submitted it, and behind it, for each of them, a
 *	u32: how many rounds have ended that it has not submitted
 */
struct coll_coord_entry {
	struct coll_coord_entry *by_name;
	struct coll_coord_entry *by_id;
	u64 hash;
	u32 id;
	u32 round;
	struct coll_coord_params known;
	struct coll_coord_params want;
	u32 want_rank;
	struct coll_coord_bad bad;
	struct coll_coord_bad failing;
	u32 children;
	u32 contributors;
	bool is_known;
	bool is_wanted;
	bool said;
	bool with_joined;
	bool leads;
	bool whole;
	bool going;
	bool starting;
	struct coll_chain pending;
	struct coll_chain by_group;
	struct coll_coord_entry *edge;
	bool opens;
	struct coll_chain up;
	struct coll_chain ready;
	struct coll_chain members;
	u32 nr_members;
	u64 forgiven;
	struct coll_coord_order start;
	struct coll_coord_order end;
	void *user;
	u32 name_len;
	u8 name[COLL_COORD_NAME_MAX];
	u64 ranks[];
};

/**
 * struct coll_coord_rec - one message between a node and its parent or child
 * @kind: enum coll_coord_kind
 * @last: see struct coll_coord_order
 * @with_joined: READY: some rank had joined instead of submitting it
 * @id: of the entry; 0: it has a name only
 * @round: of the entry
 * @serial: orders: number of the order. JOIN, GOT: each node of the subtree has received all
 *	orders up to this one. The low bits
 * @rank: READY: one that has submitted it. JOINED, LEFT, JOIN, LEAVE: see there
 * @contributors: READY, START: ranks that have submitted it
 * @has_params: @params is valid; otherwise they are those of the last START
 * @params: READY, START: of the tensor
 * @bad: READY, FAIL, BAD: why; its cause is COLL_BAD_NONE where all is well
 * @name_len: 0 where the receiver knows the id
 * @name: not terminated; valid until the next call
 */
struct coll_coord_rec {
	u8 kind;
	bool last;
	bool with_joined;
	bool has_params;
	u32 id;
	u32 round;
	u32 serial;
	u32 rank;
	u32 contributors;
	u32 name_len;
	const u8 *name;
	struct coll_coord_bad bad;
	struct coll_coord_params params;
};

struct coll_coord;

/**
 * struct coll_coord_ops - what happens; called from within calls, must not call back
 * @hash: hash of a name of @len bytes. Ranks choose the names: they must not be able to find names
 *	whose hashes are equal.
 * @start: all ranks have submitted @e, or have joined: start it here. Bit n of @e->ranks says
 *	whether local rank n has submitted it. In a fusion, @last is set for the last one.
 *	Called once for each round on each node, in the same order everywhere.
 * @end: the submissions of the ranks in @e->ranks end by @bad. Instead of @start.
 * @joined: all ranks have joined, @rank last: they may submit again
 * @left: @rank has left. Nothing can be submitted any more.
 * @pending: @is: a rank here or a child is the first to submit @e in a round. Otherwise the
 *	round is over. May be NULL.
 * @fits: at the root: may @e be in a fusion that begins with @first? They are alike as
 *	coll_coord_fuse() says. NULL: it may.
 * @fits_bytes: at the root: most bytes of a fusion that begins with @first, beside
 *	coll_coord.threshold. May be NULL.
 */
struct coll_coord_ops {
	u64 (*hash)(const struct coll_coord *c, const void *name, u32 len);
	void (*start)(struct coll_coord *c, struct coll_coord_entry *e, u32 contributors,
		      bool last);
	void (*end)(struct coll_coord *c, struct coll_coord_entry *e,
		    const struct coll_coord_bad *bad);
	void (*joined)(struct coll_coord *c, u32 rank);
	void (*left)(struct coll_coord *c, u32 rank);
	void (*pending)(struct coll_coord *c, struct coll_coord_entry *e, bool is);
	bool (*fits)(struct coll_coord *c, const struct coll_coord_entry *first,
		     const struct coll_coord_entry *e);
	u64 (*fits_bytes)(struct coll_coord *c, const struct coll_coord_entry *first);
};

/**
 * struct coll_coord - the coordinator of one node
 * @ops: the caller's
 * @user: the caller's
 * @names: hash table of names, of @nr_buckets, a power of two; the caller's memory
 * @ids: hash table of ids, of as many
 * @nr_buckets: see @names
 * @groups: hash table of groups, of @nr_groups lists; the caller's memory
 * @nr_groups: a power of two
 * @seed: of the hashes of ids and groups, a random number, so that nobody can make them collide
 * @nr_names: entries
 * @max_names: entries at most
 * @last_id: at the root
 * @nr_local: local ranks
 * @local: rank of each local rank; the caller's memory
 * @nr_words: of a bitmap of local ranks
 * @is_root: this is the agent
 * @all_children: bit n: there is a child n
 * @children_joined: bit n: all ranks below child n have joined
 * @serial: number of the last order that this node has applied
 * @counted: number of rounds that have ended here, and of JOINED and LEFT applied. It is less than
 *	@serial while an order is missing that a later one in the log of the parent has replaced
 * @got: of each child: all nodes of its subtree have received the orders up to this number. A
 *	child reports it only while its subtree has joined
 * @got_said: what the parent has been told of this subtree
 * @behind: an entry waits only until children that have joined receive its last order
 * @joined: bitmap of local ranks that have joined; the caller's memory of @nr_words
 * @nr_joined: number of bits in @joined
 * @join_said: the parent has been told, or is about to be, that this subtree has joined
 * @last_joined: the last rank of the subtree to join
 * @forgiven: number of JOINED orders applied. Each cancels the errors that ranks were still to get
 * @left: LEFT has been applied: a rank has left
 * @leave_said: the parent has been told, or is about to be, that a rank leaves
 * @left_rank: that rank
 * @pending: entries that somebody has submitted
 * @look: the first of @pending that has not been looked at since a rank or a child has joined;
 *	NULL: all have
 * @looks: most entries that one call looks at, most that it moves from @fresh to @ready, and most
 *	that one BAD or JOIN causes to fail at once; 0: any number
 * @orders: coll_coord_run() returns when it has visited so many entries in order to start or end
 *	them. It always starts the whole of a fusion; 0: any number
 * @sorts: entries that one call sorts at most; 0: any number
 * @more: the last call of coll_coord_run() has left something to order
 * @up: entries that the parent is to be told about, in this order
 * @up_join: in @up if JOIN is to be sent
 * @up_leave: in @up if LEAVE is to be sent
 * @up_got: in @up if GOT is to be sent
 * @fresh: at the root: entries that have become ready, oldest first. All of them go to the end of
 *	@ready before anything is ordered
 * @ready: at the root: entries that may be started
 * @failed: at the root: entries that are to be ended. They go before all others, and need no room
 * @ready_join: in @fresh or @ready if JOINED is to be ordered
 * @ready_leave: in @fresh or @ready if LEFT is to be ordered
 * @sorted: the first @sorted entries of @ready are in order of priority. Set to 0 when a more
 *	urgent entry is added, or one of them fails; 0 means: sort before use
 * @held: at the root: one ready member of each group that is not wholly ready
 * @fusion: at the root: the entries that start next. Before that all members of their groups are
 *	marked as going. Nothing else is ordered meanwhile
 * @go: the one in @fusion whose group is marked now; &@fusion: all groups are marked
 * @go_at: the next entry of that group; @groups: there is none; NULL: marking it has not begun
 * @others: those of that group that have been marked and are not in @fusion
 * @nr_others: number of them
 * @log: orders that some child has not been sent yet
 * @cursor: of each child: the next order that it is sent is at or behind this one
 * @threshold: bytes of a fusion at most; only that of the root counts
 * @most: tensors of a fusion at most; 0: any number
 * @ahead: tensors that are passed over for one fusion at most; 0: any number
 * @window: at the root: while the ops in flight have this many bytes or more, no further op is
 *	started; 0: no limit
 * @window_ops: the same in ops; 0: no limit
 * @urgent: at the root: an op of at most this many bytes may start although the window is full, if
 *	its priority is above @flying_most; 0: no op may
 * @urgent_ops: such an op starts only if fewer ops than this are in flight
 * @flying: at the root: ops that have been started and are not over
 * @flying_bytes: bytes of the ops in flight
 * @flying_most: the highest priority among the ops started since the last time no op was in
 *	flight
 * @rush: an entry that may start without room (see @urgent) may have become ready
 */
struct coll_coord {
	const struct coll_coord_ops *ops;
	void *user;
	struct coll_coord_entry **names;
	struct coll_coord_entry **ids;
	u32 nr_buckets;
	struct coll_chain *groups;
	u32 nr_groups;
	u64 seed;
	u32 nr_names;
	u32 max_names;
	u32 last_id;
	u32 nr_local;
	const u32 *local;
	u32 nr_words;
	bool is_root;
	u32 all_children;
	u32 children_joined;
	u64 serial;
	u64 counted;
	u64 got[COLL_COORD_FANOUT];
	u64 got_said;
	bool behind;
	u64 *joined;
	u32 nr_joined;
	bool join_said;
	u32 last_joined;
	u64 forgiven;
	bool left;
	bool leave_said;
	u32 left_rank;
	struct coll_chain pending;
	struct coll_chain *look;
	u32 looks;
	u32 orders;
	u32 sorts;
	bool more;
	struct coll_chain up, up_join, up_leave, up_got;
	struct coll_chain fresh, ready, failed, ready_join, ready_leave;
	u32 sorted;
	struct coll_chain held;
	struct coll_chain fusion;
	struct coll_chain *go, *go_at;
	struct coll_chain others;
	u32 nr_others;
	struct coll_chain log;
	struct coll_chain *cursor[COLL_COORD_FANOUT];
	struct coll_coord_order join_order, left_order;
	u64 threshold;
	u32 most;
	u32 ahead;
	u64 window;
	u32 window_ops;
	u64 urgent;
	u32 urgent_ops;
	u32 flying;
	u64 flying_bytes;
	u64 flying_most;
	bool rush;
};

/* Words of a bitmap of @nr ranks. */
static inline u32 coll_coord_words(u32 nr)
{
	return (nr + 63) / 64;
}

/* Bytes of an entry for @nr_local ranks. */
static inline size_t coll_coord_entry_bytes(u32 nr_local)
{
	return sizeof(struct coll_coord_entry) + coll_coord_words(nr_local) * sizeof(u64) +
	       nr_local * sizeof(u32);
}

#endif /* COLL_PURE_COORD_TYPES_H */
