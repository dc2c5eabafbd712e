/* SPDX-License-Identifier: GPL-2.0 */
/* MSG goes to the receive that expects it. */
#ifndef COLL_XPORT_RX_MSG_H
#define COLL_XPORT_RX_MSG_H

#include <linux/types.h>

struct coll_channel;
struct coll_frame;
struct sk_buff;

/**
 * coll_ch_expects() - may this MSG frame come?
 * @ch: its channel
 * @f: header
 *
 * Return: false: drop it; the error has been reported, or is about to be.
 */
bool coll_ch_expects(struct coll_channel *ch, const struct coll_frame *f);

/**
 * coll_ch_take_msg() - payload of a MSG frame
 * @ch: its channel
 * @f: its header, accepted by coll_ch_expects()
 * @skb: buffer
 * @off: from here on
 * @len: bytes
 *
 * Return: bytes taken; -EPROTO if they cannot be read; -ECANCELED if the message is not wanted
 * any more; -ENODATA if they could not be stored: the group fails then, or is about to.
 */
int coll_ch_take_msg(struct coll_channel *ch, const struct coll_frame *f,
		     struct sk_buff *skb, u32 off, u32 len);

/* RTS, CTS or CANCEL, whole. Return: 0 or -EPROTO. */
int coll_ch_msg_ctrl(struct coll_channel *ch, const struct coll_frame *f,
		     const u8 *payload);

#endif /* COLL_XPORT_RX_MSG_H */
