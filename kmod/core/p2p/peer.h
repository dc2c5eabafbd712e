/* SPDX-License-Identifier: GPL-2.0 */
/* Offers of other nodes, and notes that are to be sent to them. */
#ifndef COLL_CORE_PEER_H
#define COLL_CORE_PEER_H

#include <linux/types.h>

struct coll_group;
struct coll_mailbox;
struct coll_msg;
struct coll_note;
struct list_head;

/* The link to @node may have something to do. */
void coll_msg_kick(struct coll_group *g, u32 node);

/* Queue the RTS of a send to another node; under group->lock. */
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

/* Take the offer of another node out of its mailbox and of peer->offers. Under group->lock. */
void coll_msg_take_offer(struct coll_group *g, struct coll_note *n);

/*
 * An offer of another node. It is charged to the communicator, because a worker has no control
 * group. Return: NULL if there is no memory.
 */
struct coll_note *coll_note_alloc(struct coll_group *g);

/* Free the offer of another node. @n may be NULL. */
void coll_note_free(struct coll_group *g, struct coll_note *n);

/* Add a send, whose RTS goes out and which has its id, to peer->asked. Under group->lock. */
void coll_msg_add_asked(struct coll_group *g, struct coll_msg *msg);

/* The send with this id in peer->asked of node @peer. Under group->lock. NULL: there is none. */
struct coll_msg *coll_msg_find_asked(struct coll_group *g, u32 peer, u64 id);

/* An offer of node @peer that no receive has taken. Under group->lock. NULL: there is none. */
struct coll_note *coll_msg_find_offer(struct coll_group *g, u32 peer, u64 id);

/* Take an end out of the lists and trees of its peer; under group->lock. */
void coll_msg_forget(struct coll_group *g, struct coll_msg *msg);

/* Keep the offer of another node until a receive takes it; under group->lock. */
void coll_msg_keep_offer(struct coll_group *g, struct coll_note *n);

/**
 * coll_msg_drop_offers() - a rank of this node has left: drop the offers to it
 * @g: group
 * @box: its mailbox
 *
 * The senders of other nodes learn from the BYE that the rank takes nothing more. Process
 * context, no locks; group->lock is held for a slice at a time.
 */
void coll_msg_drop_offers(struct coll_group *g, struct coll_mailbox *box);

/**
 * coll_msg_drop_some() - the group has failed: drop offers of other nodes, and their answers
 * @g: group
 *
 * For COLL_WORK_MS at most. Process context, no locks; group->lock is held for a slice at a time.
 *
 * Return: there may be more.
 */
bool coll_msg_drop_some(struct coll_group *g);

/**
 * coll_msg_drop_offers_from() - a node has failed: drop its offers
 * @g: group
 * @node: in msgs->down, so no further offer of it is kept
 *
 * An offer that a matched probe has taken stays: coll_msg_post() refuses the receive that names it.
 * Process context, no locks; group->lock is held for a slice at a time.
 */
void coll_msg_drop_offers_from(struct coll_group *g, u32 node);

/* Free offers of other nodes that no other thread has a pointer to. */
void coll_notes_free(struct coll_group *g, struct list_head *notes);

#endif /* COLL_CORE_PEER_H */
