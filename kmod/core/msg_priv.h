/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of messages share. */
#ifndef COLL_CORE_MSG_PRIV_H
#define COLL_CORE_MSG_PRIV_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>

#include "msg.h"
#include "op.h"

/* Workers that one message within the node may have, besides the ranks themselves. */
#define COLL_MSG_HELPERS	4

enum coll_msg_state {
	COLL_MSG_NONE,		/* there is no such end, or it is nobody's */
	COLL_MSG_POSTED,	/* waits for its partner */
	COLL_MSG_MATCHED,	/* bytes move, or may */
	COLL_MSG_OVER,		/* nothing touches its pages any more */
};

/**
 * struct coll_note - a message that is offered, or wanted
 * @list: where it waits: for a receive, for a message, or for its turn in the link
 * @source: rank; wanted: may be COLL_RANK_ANY
 * @dest: rank
 * @tag: wanted: may be COLL_TAG_ANY
 * @dtype: enum coll_dtype
 * @bytes: of the message; wanted: at most
 * @msg: the end it belongs to; NULL: the offer of another node, by itself in memory
 * @node: of such an offer
 * @id: of such an offer
 * @error: how it is to be answered
 */
struct coll_note {
	struct list_head list;
	u32 source;
	u32 dest;
	u32 tag;
	u32 dtype;
	u64 bytes;
	struct coll_msg *msg;
	u32 node;
	u64 id;
	int error;
};

/* struct coll_msg.flags: bit numbers */
#define COLL_MSGF_ENDING	0

/**
 * struct coll_msg - one end of a message
 * @x: the request's
 * @state: group->lock
 * @send: it is the sending end
 * @note: what it offers or wants; group->lock
 * @vec: its memory
 * @all: in msgs->all, from posting to its end; group->lock
 * @lead: itself, or the receiving end of this node that has taken it; group->lock
 * @from: of a lead: the sending end, if it is of this node; group->lock
 * @bytes: of a lead: to be moved
 * @users: of a lead: uses
 * @flags: of a lead: COLL_MSGF_*
 * @result: of a lead: fixed by who sets COLL_MSGF_ENDING
 * @todo: of a lead: for whoever is about to end or to start several
 * @id: of a lead with another node
 * @asked: sends, RTS is out: in peer->asked; group->lock
 * @is_asked: it is there
 * @turn: of a lead with another node: in peer->sends or peer->recvs; group->lock
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

	struct coll_msg *lead;
	struct coll_msg *from;
	u64 bytes;
	atomic_t users;
	unsigned long flags;
	int result;
	struct list_head todo;

	u64 id;
	struct rb_node asked;
	bool is_asked;
	struct list_head turn;
	u64 done;

	bool shared;
	atomic64_t cursor;
	atomic64_t moved;
};

/* A worker that copies for a lead: holds a use of it. */
struct coll_msg_helper {
	struct work_struct work;
	struct coll_msg *lead;
};

/**
 * struct coll_exchange - a request of one or two ends
 * @ref: memory: held until it is complete, by who posts it, and by an armed deadline
 * @g: group, referenced
 * @req: the request, until it is complete
 * @recv: receiving end
 * @send: sending end
 * @left: ends that are not over; group->lock
 * @result: of the request; group->lock
 * @deadline: fails the group; holds @ref while armed
 * @expires: when, as coll_deadline() says; group->lock
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
	struct coll_msg_helper helpers[COLL_MSG_HELPERS];
};

/**
 * struct coll_mailbox - of one local rank
 * @wanted: its receives that nothing has come for, oldest first
 * @offered: messages to it that no receive has fitted, oldest first
 */
struct coll_mailbox {
	struct list_head wanted;
	struct list_head offered;
};

/**
 * struct coll_msg_peer - messages to and from one other node
 * @frames: RTS and CTS that are due, in order
 * @asked: sends whose RTS is out, by id
 * @sends: sends whose CTS has come, in that order
 * @recvs: receives whose CTS is out or in @frames, in that order
 * @last_id: of our own RTS
 * @peer_id: of the peer's
 */
struct coll_msg_peer {
	struct list_head frames;
	struct rb_root asked;
	struct list_head sends;
	struct list_head recvs;
	u64 last_id;
	u64 peer_id;
};

/**
 * struct coll_msgs - messages of a group; all under group->lock
 * @all: ends posted and not over
 * @boxes: by local index
 * @peers: by node
 * @held: by rank of another node: its offers that are kept here
 * @left: by rank: has left
 * @nr_left: how many
 * @counts: statistics
 */
struct coll_msgs {
	struct list_head all;
	struct coll_mailbox *boxes;
	struct coll_msg_peer *peers;
	u16 *held;
	unsigned long *left;
	u32 nr_left;
	struct coll_msg_counts counts;
};

/* msg.c */

/**
 * coll_msg_end() - fix the result of a lead
 *
 * Return: true for the first call only: that caller owes a coll_msg_put_use() for
 * the lead's own use.
 */
bool coll_msg_end(struct coll_msg *lead, int result);

/* Fix it, and drop the own use. Process context, no locks. */
void coll_msg_finish(struct coll_msg *lead, int result);

static inline bool coll_msg_use(struct coll_msg *lead)
{
	return atomic_inc_not_zero(&lead->users);
}

/**
 * coll_msg_offer() - find a receive for a message, or keep the message
 * @g: group
 * @n: offer to a rank of this node
 *
 * Under group->lock. Return: the receiving end, matched, with a use for
 * coll_msg_begin(); NULL: it is kept.
 */
struct coll_msg *coll_msg_offer(struct coll_group *g, struct coll_note *n);

/* Let the bytes of a lead move that has just been matched. Drops the use. */
void coll_msg_begin(struct coll_msg *lead);

/* Fail the group: there is no memory here, or a buffer has gone. */
void coll_group_memory(struct coll_group *g, int err);

/* msg_copy.c */

/* Copy from the sender's pages to the receiver's. Needs a use of the caller's. */
void coll_msg_copy(struct coll_msg *lead);

/* msg_remote.c */

/* The link to the node of @rank may have something to do. */
void coll_msg_kick(struct coll_group *g, u32 node);

/* Let a node know of a send; under group->lock. */
void coll_msg_ask(struct coll_group *g, struct coll_msg *msg);

/**
 * coll_msg_answer() - a receive has taken an offer of another node
 * @g: group
 * @lead: receive
 * @n: offer; becomes the CTS
 *
 * Under group->lock.
 */
void coll_msg_answer(struct coll_group *g, struct coll_msg *lead, struct coll_note *n);

/* Take an end that is over out of what links look at; under group->lock. */
void coll_msg_forget(struct coll_group *g, struct coll_msg *msg);

#endif /* COLL_CORE_MSG_PRIV_H */
