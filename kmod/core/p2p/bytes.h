/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes of messages between nodes, as links see them. All but coll_msg_expects() and
 * coll_msg_owes() are called by the work of the link to the peer only; process context, no locks.
 */
#ifndef COLL_CORE_BYTES_H
#define COLL_CORE_BYTES_H

#include <linux/types.h>

struct coll_group;
struct coll_msg;
struct coll_vec;

/**
 * coll_msg_sending() - the message whose bytes go to a node now
 * @g: group
 * @peer: node
 *
 * The same message until all of it has been sent. Return: the message, with a ref; NULL for none.
 */
struct coll_msg *coll_msg_sending(struct coll_group *g, u32 peer);

/* As above, for the message whose bytes come from a node next. */
struct coll_msg *coll_msg_receiving(struct coll_group *g, u32 peer);

/* Are bytes of any message due from this node? Racy: the link is kicked when this changes. */
bool coll_msg_expects(const struct coll_group *g, u32 peer);

/* Are bytes of any message due to this node? Racy, too. */
bool coll_msg_owes(const struct coll_group *g, u32 peer);

/* Id of a message, bytes moved, bytes in all, and its memory. */
u64 coll_msg_id(const struct coll_msg *msg);

u64 coll_msg_done(const struct coll_msg *msg);

u64 coll_msg_bytes(const struct coll_msg *msg);

const struct coll_vec *coll_msg_vec(const struct coll_msg *msg);

/* @len more bytes of the message have been sent. */
void coll_msg_sent(struct coll_msg *msg, u32 len);

/**
 * coll_msg_received() - @len more bytes have come
 * @msg: from coll_msg_receiving()
 * @data: bytes
 * @len: no more than the bytes that are left
 *
 * Return: 0; an error has been reported with coll_msg_failed().
 */
int coll_msg_received(struct coll_msg *msg, const void *data, u32 len);

#endif /* COLL_CORE_BYTES_H */
