/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages: send, recv and sendrecv, and probes.
 *
 * A request has one or two ends: what it sends, what it receives. An end waits in its
 * group until its partner is known; then one of the two, the lead, stands for both:
 *   within the node	the receiving end; pages are copied to pages
 *   to another node	the sending end; its bytes go out by the link
 *   from another node	the receiving end; bytes come in by the link
 * Whoever touches pages of a lead, or of its partner, holds a use of the lead, as with
 * ops: the first use is the lead's own, dropped by whoever fixes the result; the last
 * one ends both ends. A request is complete with its last end.
 *
 * Between nodes: the sender's node asks (RTS), the receiver's keeps the question until
 * a receive fits and answers (CTS), then the bytes come (MSG), in the order of the
 * answers. So a MSG frame always has a place to go to. A sender that wants its message back
 * says so (CANCEL), and the answer tells which came first: each RTS gets exactly one CTS.
 *
 * A probe is a receiving end that moves no bytes: it is over when a message has been found
 * (msg_probe.c). A matched probe takes the offer out of matching. Then the mailbox holds the
 * offer until an mrecv names it.
 */
#ifndef COLL_CORE_MSG_H
#define COLL_CORE_MSG_H

#include <linux/types.h>

#include <linux/coll.h>

#include "../../pure/collective.h"

struct coll_group;
struct coll_member;
struct coll_msg;
struct coll_req;
struct coll_worker;

/**
 * struct coll_msg_counts - of one group
 * @sent: messages that its ranks have sent, and that have arrived as far as is known
 * @bytes: in these
 */
struct coll_msg_counts {
	u64 sent;
	u64 bytes;
};

/* What a frame says about a message. */
enum coll_msg_kind {
	COLL_MSG_OFFER,		/* RTS: a rank has one for a rank of the other node */
	COLL_MSG_ANSWER,	/* CTS: a receive has taken it, or it is withdrawn */
	COLL_MSG_WITHDRAW,	/* CANCEL: the sender wants it back */
};

/**
 * struct coll_msg_frame - RTS, CTS or CANCEL, decoded
 * @kind: which
 * @id: names the message on its way from one node to the other
 * @source: RTS: sending rank, as the next ones
 * @dest: receiving rank
 * @tag: its tag
 * @dtype: enum coll_dtype
 * @bytes: its length
 * @error: CTS: positive errno of a refusal, or 0
 */
struct coll_msg_frame {
	enum coll_msg_kind kind;
	u64 id;
	u32 source;
	u32 dest;
	u32 tag;
	u32 dtype;
	u64 bytes;
	u32 error;
};

extern const struct coll_group_part coll_p2p_part;

/**
 * coll_msg_post() - post a send, a receive or both
 * @req: filled in by front
 *
 * As coll_op_post(); also -ENOTCONN no link, -EHOSTDOWN the partner has left, -ENOMSG a probe
 * that does not wait has found nothing, -ENOENT an mrecv names no message that is held.
 */
int coll_msg_post(struct coll_req *req);

/**
 * coll_msg_cancel() - take one message back that has no partner yet
 * @m: member that has posted it, with a group
 * @handle: of its command; of several that have it, the one posted first
 *
 * Whether it is really cancelled shows when it completes: with -ECANCELED or with its own
 * result. The answer of another node may be needed for that. Process context, no locks.
 *
 * Return: 0; -ENOENT no such message is in flight; -EALREADY it has found its partner, so
 * that it will complete by itself; -EINVAL it sends and receives.
 */
int coll_msg_cancel(struct coll_member *m, u64 handle);

/**
 * coll_msg_cancel_receives() - take back all receives that have no partner yet
 * @m: member with a group
 *
 * Also probes, and those of commands that send as well: these end with -ECANCELED when their
 * other half is over. Process context, no locks. Return: how many receives.
 */
u64 coll_msg_cancel_receives(struct coll_member *m);

/* As coll_req_help() and coll_req_can_help(), of requests that are messages. */
void coll_msg_help(struct coll_req *req, struct coll_worker *w);
bool coll_msg_can_help(struct coll_req *req);

/**
 * coll_msgs_without() - a node is there no more, as far as messages go
 * @g: group
 * @node: its communicator has failed
 *
 * None to or from it can be posted any more. Return: true if one is in flight.
 */
bool coll_msgs_without(struct coll_group *g, u32 node);

/* Comparisons that matching has made for a rank. Under group->lock. */
u64 coll_msgs_steps(const struct coll_member *m);

/* Under group->lock. */
const struct coll_msg_counts *coll_msgs_counts(const struct coll_group *g);

/*
 * For links. All but coll_msg_expects() and coll_msg_owes() are called by the work of the link to @peer
 * only; process context, no locks.
 */

/* The next RTS, CTS or CANCEL to send to a node. Return: false for none. */
bool coll_msg_next_frame(struct coll_group *g, u32 peer, struct coll_msg_frame *f);

/**
 * coll_msg_got_frame() - an RTS, a CTS or a CANCEL has come
 * @g: group
 * @peer: from this node
 * @f: checked for range against the wire format only
 *
 * Return: 0, -EPROTO it cannot be, -ENOMEM no room to keep it.
 */
int coll_msg_got_frame(struct coll_group *g, u32 peer, const struct coll_msg_frame *f);

/**
 * coll_msg_sending() - the message whose bytes go to a node now
 * @g: group
 * @peer: node
 *
 * The same one until all of it has been sent. Return: with a use, NULL for none.
 */
struct coll_msg *coll_msg_sending(struct coll_group *g, u32 peer);

/* The message whose bytes come from a node next; likewise. */
struct coll_msg *coll_msg_receiving(struct coll_group *g, u32 peer);

/* Is any message in flight? A look without the lock. */
bool coll_msg_any(const struct coll_group *g);

/* Are bytes of any message due from this node? Racy: who changes that kicks the link. */
bool coll_msg_expects(const struct coll_group *g, u32 peer);
/* Are any due to it? */
bool coll_msg_owes(const struct coll_group *g, u32 peer);

/* No byte of it may be touched any more, beyond what is being touched. */
bool coll_msg_ending(const struct coll_msg *msg);

/* Where it stands: its name, bytes moved, bytes in all, and the memory. */
u64 coll_msg_id(const struct coll_msg *msg);
u64 coll_msg_done(const struct coll_msg *msg);
u64 coll_msg_bytes(const struct coll_msg *msg);
const struct coll_vec *coll_msg_vec(const struct coll_msg *msg);

/* @len more bytes are out of its pages. */
void coll_msg_sent(struct coll_msg *msg, u32 len);

/**
 * coll_msg_received() - @len more bytes have come
 * @msg: from coll_msg_receiving()
 * @data: bytes
 * @len: inside what is left
 *
 * Return: 0; an error has been reported with coll_msg_failed().
 */
int coll_msg_received(struct coll_msg *msg, const void *data, u32 len);

/* A buffer has gone: as coll_exec_failed(). */
void coll_msg_failed(struct coll_msg *msg, int err);

/* Drop a use. The last one ends it: process context, no locks. */
void coll_msg_put_use(struct coll_msg *msg);

#endif /* COLL_CORE_MSG_H */
