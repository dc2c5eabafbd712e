/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages: send, recv and sendrecv, and probes.
 *
 * A request has a sending end, a receiving end, or both. An end waits in its group until its
 * partner is known; then one of the two, the lead, stands for both:
 *   within the node	the receiving end; pages are copied to pages
 *   to another node	the sending end; its bytes go out by the link
 *   from another node	the receiving end; bytes come in by the link
 * A thread that touches pages of a lead, or of its partner, holds a ref of the lead, as with
 * ops. The first ref is the lead's own; the thread that fixes the result drops it. When the last
 * ref is dropped, both ends are over. A request is complete when all its ends are over.
 *
 * Between nodes: the sender's node offers the message (RTS). The receiver's node keeps the offer
 * until a receive fits, and answers (CTS). Then the bytes come (MSG), in the order of the
 * answers. So each MSG frame finds its receive. A sender that wants its message back sends
 * CANCEL. The CTS tells which came first: each RTS gets exactly one CTS.
 *
 * A probe is a receiving end that moves no bytes: it is over when a message has been found
 * (probe.c). A matched probe takes the offer out of matching. Then the mailbox holds the
 * offer until an mrecv names it.
 */
#ifndef COLL_CORE_P2P_STATE_H
#define COLL_CORE_P2P_STATE_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>

#include "../group/req.h"
#include "messages.h"

/*
 * Most messages that a loop over all messages handles before it drops group->lock for a moment.
 */
#define COLL_MSG_SLICE		64

/* Workers that one message within the node may have, besides the ranks themselves. */
#define COLL_MSG_HELPERS	4

enum coll_msg_state {
	COLL_MSG_NONE,		/* there is no such end, or its partner is COLL_RANK_NULL */
	COLL_MSG_POSTED,	/* waits for its partner */
	COLL_MSG_HELD,		/* a send: a matched probe has taken it, no receive has */
	COLL_MSG_MATCHED,	/* bytes move, or may */
	COLL_MSG_OVER,		/* nothing touches its pages any more */
};

/* The trees of a mailbox, see mailbox.c. An offer has a node in each of the first three. */
enum coll_match_tree {
	COLL_MATCH_BOTH,	/* offers, by source and tag */
	COLL_MATCH_SOURCE,	/* offers, by source */
	COLL_MATCH_TAG,		/* offers, by tag */
	COLL_MATCH_NODES,
	COLL_MATCH_WANTED = COLL_MATCH_NODES,	/* receives, by source and tag, or wildcards */
	COLL_MATCH_PROBES,	/* probes that take nothing, by source and tag, or wildcards */
	COLL_MATCH_HELD,	/* offers that a matched probe has taken, by order */
	COLL_MATCH_TREES,
};

/* Where a note is in a mailbox. */
enum coll_note_place {
	COLL_NOTE_NOWHERE,
	COLL_NOTE_OFFERED,
	COLL_NOTE_WANTED,	/* a receive, or a matched probe */
	COLL_NOTE_PROBES,
	COLL_NOTE_HELD,
};

/**
 * struct coll_note - a message that is offered, or wanted
 * @list: list that it waits in: for a receive, for a message, or for its frame to be sent
 * @box: the mailbox that it waits in for its partner; NULL: in none
 * @order: in @box: a unique number; later notes have greater ones. For an offer that is held:
 *	its id
 * @nodes: in @box: in the trees; only an offer that is not held uses more than the first one
 * @place: where in @box
 * @source: rank; wanted: may be COLL_RANK_ANY
 * @dest: rank
 * @tag: wanted: may be COLL_TAG_ANY
 * @dtype: enum coll_dtype
 * @bytes: of the message; wanted: at most
 * @msg: the end that has this note; NULL: an offer of another node, allocated by itself
 * @node: node of such an offer
 * @id: id of such an offer
 * @error: negative errno of the answer, or 0
 * @by_id: of such an offer, while no receive has taken it: in peer->offers
 */
struct coll_note {
	struct list_head list;
	struct coll_mailbox *box;
	u64 order;
	struct rb_node nodes[COLL_MATCH_NODES];
	u8 place;
	u32 source;
	u32 dest;
	u32 tag;
	u32 dtype;
	u64 bytes;
	struct coll_msg *msg;
	u32 node;
	u64 id;
	int error;
	struct rb_node by_id;
};

/* struct coll_msg.flags: bit numbers */
#define COLL_MSGF_ENDING	0

/**
 * struct coll_msg - one end of a message
 * @x: the exchange that it is an end of
 * @state: see enum coll_msg_state; group->lock
 * @send: it is the sending end
 * @note: what it offers or wants; group->lock
 * @vec: its memory
 * @all: in msgs->all, from posting to its end; group->lock
 * @walked: the last walk that has looked at it, or need not look at it; group->lock
 * @lead: itself, or the receiving end of this node that has taken it; group->lock
 * @from: of a lead: the sending end, if it is of this node; group->lock
 * @bytes: of a lead: bytes to move
 * @refs: of a lead: refs
 * @flags: of a lead: COLL_MSGF_*
 * @result: of a lead: fixed by the setter of COLL_MSGF_ENDING
 * @todo: of a lead: in the list of a thread that is about to end several
 * @id: of a lead with another node
 * @asked: of a send whose RTS has been sent: in peer->asked; group->lock
 * @is_asked: @asked is in the tree
 * @withdrawn: the sender has cancelled it after RTS: CANCEL is due or has been sent; group->lock
 * @in_peer: of a lead with another node: in peer->sends or peer->recvs; group->lock
 * @done: of a lead with another node: bytes moved; the link's work only
 * @shared: helpers may take slices; group->lock
 * @cursor: bytes handed out to helpers
 * @moved: bytes copied by them
 */
struct coll_msg {
	struct coll_exchange *x;
	enum coll_msg_state state;
	bool send;
	struct coll_note note;
	struct coll_vec vec;
	struct list_head all;
	u64 walked;

	struct coll_msg *lead;
	struct coll_msg *from;
	u64 bytes;
	atomic_t refs;
	unsigned long flags;
	int result;
	struct list_head todo;

	u64 id;
	struct rb_node asked;
	bool is_asked;
	bool withdrawn;
	struct list_head in_peer;
	u64 done;

	bool shared;
	atomic64_t cursor;
	atomic64_t moved;
};

/* A worker that copies for a lead: holds a ref of it. */
struct coll_msg_helper {
	struct work_struct work;
	struct coll_msg *lead;
};

/**
 * struct coll_exchange - a request of one or two ends
 * @ref: references to the memory: by the request until it is complete, by its poster, and by an
 *	armed deadline
 * @g: group, referenced
 * @req: the request, until it is complete
 * @recv: receiving end
 * @send: sending end
 * @left: ends that are not over; group->lock
 * @result: of the request; group->lock
 * @deadline: fails the group; holds @ref while armed
 * @expires: time at which @deadline fires, see coll_deadline(); group->lock
 * @by_handle: in member->handles, if the command has a handle; group->lock
 * @helpers: for a receiving end that leads
 */
struct coll_exchange {
	struct kref ref;
	struct coll_group *g;
	struct coll_req *req;
	struct coll_msg recv;
	struct coll_msg send;
	u32 left;
	int result;
	struct delayed_work deadline;
	u64 expires;
	struct rb_node by_handle;
	struct coll_msg_helper helpers[COLL_MSG_HELPERS];
};

/**
 * struct coll_mailbox - mailbox of one local rank; all under group->lock
 * @group: group of the rank
 * @wanted: its receives and probes that no message has fitted, oldest first
 * @offered: messages to it that no receive has fitted, oldest first
 * @held: messages that a matched probe has taken and no receive has
 * @order: order of the newest note
 * @trees: by enum coll_match_tree
 * @steps: notes that have been compared to find a place or a partner
 */
struct coll_mailbox {
	struct coll_group *group;
	struct list_head wanted;
	struct list_head offered;
	struct list_head held;
	u64 order;
	struct rb_root trees[COLL_MATCH_TREES];
	u64 steps;
};

/**
 * struct coll_msg_peer - messages to and from one other node
 * @frames: RTS, CTS and CANCEL that are due, in order
 * @asked: sends whose RTS is out, by id
 * @offers: offers of that node that no receive has taken, by id
 * @sends: sends whose CTS has come, in that order
 * @recvs: receives whose CTS is out or in @frames, in that order
 * @last_id: id of our last RTS
 * @peer_id: id of the last RTS of the peer
 */
struct coll_msg_peer {
	struct list_head frames;
	struct rb_root asked;
	struct rb_root offers;
	struct list_head sends;
	struct list_head recvs;
	u64 last_id;
	u64 peer_id;
};

/**
 * struct coll_msgs - messages of a group; all under group->lock
 * @all: ends posted and not over, ascending by @walked
 * @walks: walks that have begun, see coll_msgs_walk()
 * @boxes: by local index
 * @peers: by node
 * @left: bit of each rank: it has left
 * @nr_left: number of bits in @left
 * @down: bit of each node: it has failed, see coll_msgs_without()
 * @node_failed: a bit of @down is set
 * @nr_asking: calls of coll_msgs_without() that are under way
 * @missed: during such calls: a message in flight needs a node that has failed, or may need it
 * @counts: statistics
 * @drop: drops offers after a failure, with a reference to the group
 */
struct coll_msgs {
	struct list_head all;
	u64 walks;
	struct coll_mailbox *boxes;
	struct coll_msg_peer *peers;
	unsigned long *left;
	u32 nr_left;
	unsigned long *down;
	bool node_failed;
	u32 nr_asking;
	bool missed;
	struct coll_msg_counts counts;
	struct work_struct drop;
};

/* The rank at the other side of an end; a receive may have COLL_RANK_ANY. */
static inline u32 coll_msg_partner(const struct coll_msg *msg)
{
	return msg->send ? msg->note.dest : msg->note.source;
}

/* Does this end still wait for a receive that takes it, or for a message that it receives? */
static inline bool coll_msg_waits(const struct coll_msg *msg)
{
	return msg->state == COLL_MSG_POSTED || msg->state == COLL_MSG_HELD;
}

static inline bool coll_msg_tryget(struct coll_msg *lead)
{
	return atomic_inc_not_zero(&lead->refs);
}

/* Is this the end of a probe, which finds a message but does not receive it? */
static inline bool coll_msg_probes(const struct coll_msg *msg)
{
	return coll_is_probe(msg->x->req->cmd.collective);
}

#endif /* COLL_CORE_P2P_STATE_H */
