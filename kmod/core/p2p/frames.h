/* SPDX-License-Identifier: GPL-2.0 */
/* Frames about messages between nodes. */
#ifndef COLL_CORE_FRAMES_H
#define COLL_CORE_FRAMES_H

#include <linux/types.h>

struct coll_group;

/* Kinds of frames about a message. */
enum coll_msg_kind {
	COLL_MSG_OFFER,		/* RTS: a rank has a message for a rank of the other node */
	COLL_MSG_ANSWER,	/* CTS: a receive has taken it, or it is withdrawn */
	COLL_MSG_WITHDRAW,	/* CANCEL: the sender wants it back */
};

/**
 * struct coll_msg_frame - RTS, CTS or CANCEL, decoded
 * @kind: which
 * @id: number of the message, in its direction between the two nodes
 * @source: RTS: sending rank. The next four fields are for RTS, too.
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

/*
 * For links. Called by the work of the link to @peer only; process context, no locks.
 */

/* The next RTS, CTS or CANCEL to send to a node. Return: false for none. */
bool coll_msg_next_frame(struct coll_group *g, u32 peer, struct coll_msg_frame *f);

/* Is an RTS, a CTS or a CANCEL to a node due? */
bool coll_msg_has_frames(struct coll_group *g, u32 peer);

/**
 * coll_msg_got_frame() - an RTS, a CTS or a CANCEL has come
 * @g: group
 * @peer: node that has sent it
 * @f: checked for range against the wire format only
 *
 * Return: 0; -EPROTO if it does not fit the frames before it. If there is no room to keep an offer,
 * the group fails, and the result is 0.
 */
int coll_msg_got_frame(struct coll_group *g, u32 peer, const struct coll_msg_frame *f);

#endif /* COLL_CORE_FRAMES_H */
