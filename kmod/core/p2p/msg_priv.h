/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of messages share. */
#ifndef COLL_CORE_MSG_PRIV_H
#define COLL_CORE_MSG_PRIV_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/workqueue.h>

#include "../group/req.h"
#include "msg.h"

/*
 * Messages that are looked at while group->lock is held once, where all that wait are to be
 * looked at.
 */
#define COLL_MSG_SLICE		64

/* Workers that one message within the node may have, besides the ranks themselves. */
#define COLL_MSG_HELPERS	4

enum coll_msg_state {
	COLL_MSG_NONE,		/* there is no such end, or it is nobody's */
	COLL_MSG_POSTED,	/* waits for its partner */
	COLL_MSG_HELD,		/* a send: a matched probe has taken it, nothing has received it */
	COLL_MSG_MATCHED,	/* bytes move, or may */
	COLL_MSG_OVER,		/* nothing touches its pages any more */
};

/* The trees of a mailbox, see msg_match.c. An offer has a node in each of the first three. */
enum coll_match_tree {
	COLL_MATCH_BOTH,	/* offers, by source and tag */
	COLL_MATCH_SOURCE,	/* offers, by source */
	COLL_MATCH_TAG,		/* offers, by tag */
	COLL_MATCH_NODES,
	COLL_MATCH_WANTED = COLL_MATCH_NODES,	/* receives, by source and tag, or wildcards */
	COLL_MATCH_PROBES,	/* probes that take nothing, likewise */
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
 * @list: where it waits: for a receive, for a message, or for its turn in the link
 * @box: the mailbox that it waits in for its partner; NULL: in none
 * @order: in @box: its age; a later one has a greater number, and no two have the same. Of an
 *	offer that is held: its id
 * @nodes: in @box: in the trees; only an offer that is not held uses more than the first one
 * @place: where in @box
 * @source: rank; wanted: may be COLL_RANK_ANY
 * @dest: rank
 * @tag: wanted: may be COLL_TAG_ANY
 * @dtype: enum coll_dtype
 * @bytes: of the message; wanted: at most
 * @msg: the end it belongs to; NULL: the offer of another node, by itself in memory
 * @node: of such an offer
 * @id: of such an offer
 * @error: how it is to be answered
 * @by_id: such an offer, while no receive has taken it: in peer->offers
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
 * @x: the request's
 * @state: group->lock
 * @send: it is the sending end
 * @note: what it offers or wants; group->lock
 * @vec: its memory
 * @all: in msgs->all, from posting to its end; group->lock
 * @walked: the last walk that has looked at it, or does not have to; group->lock
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
 * @withdrawn: the sender has cancelled it since, and the receiver's node is asked or about
 *	to be asked whether it is still there; group->lock
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
	u64 walked;

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
	bool withdrawn;
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
 * struct coll_mailbox - of one local rank; all under group->lock
 * @group: whose rank it is
 * @wanted: its receives that nothing has come for, oldest first
 * @offered: messages to it that no receive has fitted, oldest first
 * @held: messages that a matched probe has taken and nothing has received
 * @order: that of the note that came last
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
 * @last_id: of our own RTS
 * @peer_id: of the peer's
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
 * @left: by rank: has left
 * @nr_left: how many
 * @down: by node: has failed, see coll_msgs_without()
 * @node_failed: one has
 * @nr_asking: calls of coll_msgs_without() that are under way
 * @missed: meanwhile, a message was in flight that needs a node that has failed
 * @counts: statistics
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
};

/* The other side of an end, as far as it is known. */
static inline u32 coll_msg_partner(const struct coll_msg *msg)
{
	return msg->send ? msg->note.dest : msg->note.source;
}

/* Has nothing begun to receive this message, or to send what this receives? */
static inline bool coll_msg_waits(const struct coll_msg *msg)
{
	return msg->state == COLL_MSG_POSTED || msg->state == COLL_MSG_HELD;
}

/* msg.c */

/* A new group has room for messages. Return: 0, -ENOMEM. */
int coll_msgs_init(struct coll_group *g);

/* No request is left. */
void coll_msgs_free(struct coll_group *g);

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

/* A receive takes an offer. Under group->lock. Return: the lead, with a use, or NULL. */
struct coll_msg *coll_msg_match(struct coll_group *g, struct coll_msg *r,
				struct coll_note *n);

/* Index among the node's ranks of one that is of this node. */
u32 coll_msg_local(const struct coll_group *g, u32 rank);

/* msg_match.c */

/* Set up an empty mailbox of a rank of @g. */
void coll_mailbox_init(struct coll_mailbox *box, struct coll_group *g);

/**
 * coll_match_offered() - the oldest offer that fits a receive
 * @box: of the receiver
 * @source: rank, or COLL_RANK_ANY
 * @tag: tag, or COLL_TAG_ANY
 *
 * Under group->lock. Return: the offer, or NULL.
 */
struct coll_note *coll_match_offered(struct coll_mailbox *box, u32 source, u32 tag);

/* Take a note out of wherever it waits. Under group->lock. */
void coll_note_take(struct coll_note *n);

/**
 * coll_match_held() - a message that a matched probe has taken
 * @box: of the receiver
 * @id: from the user
 *
 * Under group->lock. Return: the offer, or NULL.
 */
struct coll_note *coll_match_held(struct coll_mailbox *box, u64 id);

/* Let a probe wait for the offer that fits it. Under group->lock. */
void coll_match_put_probe(struct coll_mailbox *box, struct coll_note *n);

/* The oldest of the probes that an offer fits, or NULL. Under group->lock. */
struct coll_note *coll_match_probe(struct coll_mailbox *box, const struct coll_note *offer);

/* Keep an offer, which is in no mailbox, for who names its ->order. Under group->lock. */
void coll_match_put_held(struct coll_mailbox *box, struct coll_note *n);

/* Find a message for a receive or a probe, or let it wait. As coll_msg_offer(). */
struct coll_msg *coll_msg_want(struct coll_group *g, struct coll_msg *r,
			       struct list_head *ending);

/**
 * coll_msg_offer() - find a receive for a message, or keep the message
 * @g: group
 * @n: offer to a rank of this node
 * @ending: a matched probe that has found it is added
 * @kept: zeroed; result: what plain probes are to be told about it, if any wait for it
 *
 * Under group->lock. When the caller has dropped the lock it passes @ending to
 * coll_msgs_finish(), and @kept to coll_probes_tell(). Return: the receiving end, matched,
 * with a use for coll_msg_begin(); NULL: it is kept.
 */
struct coll_msg *coll_msg_offer(struct coll_group *g, struct coll_note *n,
				struct list_head *ending, struct coll_note *kept);

/**
 * coll_msg_give_up() - an end that waits for its partner is to end alone
 * @msg: an end in state COLL_MSG_POSTED
 * @result: negative errno
 * @ending: the end is added to this list, unless it is ending already
 *
 * Nobody can match it from here on. Under group->lock. The caller has to pass @ending to
 * coll_msgs_finish() when it has dropped the lock.
 */
void coll_msg_give_up(struct coll_msg *msg, int result, struct list_head *ending);

/* Complete what coll_msg_give_up() has put on the list. Process context, no locks. */
void coll_msgs_finish(struct list_head *ending);

/* Let the bytes of a lead move that has just been matched. Drops the use. */
void coll_msg_begin(struct coll_msg *lead);

/* Fail the group: there is no memory here, or a buffer has gone. */
void coll_group_memory(struct coll_group *g, int err);

/* What a receive or a probe tells its caller about an offer. Under group->lock. */
void coll_msg_tell(struct coll_req *req, const struct coll_note *n);

/* Can there be a message to or from @rank, or any? Under group->lock. Return: 0 or why not. */
int coll_msg_check_rank(const struct coll_group *g, u32 rank);

/**
 * coll_msg_missed() - a command has been refused with -EHOSTDOWN
 * @g: group
 *
 * If all have left in order, this ends the message alone. If a node has failed because of a
 * collective, nobody knows what its ranks still wait for: the communicator fails as that node
 * did. No locks.
 */
void coll_msg_missed(struct coll_group *g);

/* msg_probe.c */

/* Does this end look for a message, and receive nothing? */
bool coll_msg_probes(const struct coll_msg *msg);

/**
 * coll_probe_found() - a probe has found an offer
 * @g: group
 * @p: receiving end of the probe
 * @n: offer; a matched probe takes it
 * @ending: @p is added
 *
 * Under group->lock; as coll_msg_offer().
 */
void coll_probe_found(struct coll_group *g, struct coll_msg *p, struct coll_note *n,
		      struct list_head *ending);

/* Copy what a probe is told about an offer. Under group->lock. */
void coll_probe_remember(const struct coll_note *n, struct coll_note *kept);

/**
 * coll_probes_tell() - complete the plain probes that waited for an offer
 * @g: group
 * @kept: by coll_msg_offer(); nothing happens if no probe waited
 *
 * Any number of probes may fit one offer. They are taken in slices, so that group->lock is
 * held for a short time only. Process context, no locks.
 */
void coll_probes_tell(struct coll_group *g, const struct coll_note *kept);

/**
 * coll_probe_now() - look for a message without waiting
 * @req: a probe
 *
 * No locks. Return: 1: @req has been completed, and may be gone; 0: there is none, and the
 * probe may wait; negative: as coll_msg_post().
 */
int coll_probe_now(struct coll_req *req);

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

/* Take the offer of another node out of all that could find it. Under group->lock. */
void coll_msg_take_offer(struct coll_group *g, struct coll_note *n);

/* Free the offer of another node. NULL is fine. */
void coll_note_free(struct coll_group *g, struct coll_note *n);

/* Take an end that is over out of what links look at; under group->lock. */
void coll_msg_forget(struct coll_group *g, struct coll_msg *msg);

/* Keep the offer of another node until a receive takes it; under group->lock. */
void coll_msg_keep_offer(struct coll_group *g, struct coll_note *n);

/**
 * coll_msg_drop_offers() - a rank of this node has left: forget what it was offered
 * @g: group
 * @box: its mailbox
 *
 * The senders of other nodes learn from the BYE that the rank takes nothing more. Process
 * context, no locks; group->lock is held for a slice at a time.
 */
void coll_msg_drop_offers(struct coll_group *g, struct coll_mailbox *box);

/* Free offers of other nodes that nobody else has a pointer to. */
void coll_notes_free(struct coll_group *g, struct list_head *notes);

/* msg_walk.c */

/* A message has been posted. Under group->lock. */
void coll_msgs_add(struct coll_group *g, struct coll_msg *msg);

/* Have all the others left? Under group->lock. */
bool coll_msgs_alone(const struct coll_group *g);

/* msg_cancel.c */

/* The command of @x can be cancelled by its handle from now on; under group->lock. */
void coll_exchange_name(struct coll_exchange *x);

/* It is complete; under group->lock. */
void coll_exchange_unname(struct coll_exchange *x);

#endif /* COLL_CORE_MSG_PRIV_H */
