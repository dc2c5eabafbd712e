/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side. A stream is cut into frames (rx.c); control frames are obeyed
 * when they are whole (rx_ctrl.c); DATA goes to its channel (rx_data.c), from the
 * socket or from what was put aside; MSG to the receive that expects it (rx_msg.c).
 */
#ifndef COLL_XPORT_RX_H
#define COLL_XPORT_RX_H

#include <linux/types.h>

struct coll_channel;
struct coll_frame;
struct coll_stream;
struct sk_buff;

/* rx.c */

/**
 * coll_rx() - read what there is, and what running ops want
 * @st: stream, under conn->lock
 *
 * Sets st->closed and st->bad. Reports wrong bytes by failing channels.
 * Return: true if there may be more to do now.
 */
bool coll_rx(struct coll_stream *st);

/* rx_ctrl.c */

/**
 * coll_rx_ctrl() - obey a control frame that is whole
 * @st: stream with the frame
 *
 * Return: 0; -EPROTO if the stream is no use any more. What concerns its channel
 * alone has been reported.
 */
int coll_rx_ctrl(struct coll_stream *st);

/* rx_data.c: all under conn->lock, between coll_ch_begin() and coll_ch_end() */

/**
 * coll_ch_take_header() - begin a frame
 * @ch: between frames
 * @f: its header, decoded
 */
void coll_ch_take_header(struct coll_channel *ch, const struct coll_frame *f);

/**
 * coll_ch_room() - payload bytes that may be taken now
 * @ch: with a header
 *
 * May complete a token, and the frame with it; may fail the group.
 */
u64 coll_ch_room(struct coll_channel *ch);

/**
 * coll_ch_take_skb() - take payload where it lies in a socket buffer
 * @ch: channel
 * @skb: buffer
 * @off: from here on
 * @len: inside the room
 *
 * Return: bytes taken; fewer if something has been reported as wrong; or -EPROTO:
 * the bytes cannot be read.
 */
int coll_ch_take_skb(struct coll_channel *ch, struct sk_buff *skb, u32 off, u32 len);

/* May the peer lend to it, that is, is the peer in this kernel? */
bool coll_ch_may_read(struct coll_channel *ch);

/* Is the frame that it has begun a loan? */
bool coll_ch_on_loan(const struct coll_channel *ch);

/**
 * coll_ch_read_loan() - read payload from where the peer has it
 * @ch: with the header of a loan
 * @most: so many bytes at most
 *
 * Return: bytes read.
 */
u32 coll_ch_read_loan(struct coll_channel *ch, u32 most);

/**
 * coll_ch_drain() - take what has been put aside, as far as ops want it
 * @ch: channel
 *
 * Also looks again at a header that waits for its op.
 * Return: true if the budget was used up.
 */
bool coll_ch_drain(struct coll_channel *ch);

/* Has it bytes put aside, or a frame it has begun? Then they come first. */
bool coll_ch_pending(const struct coll_channel *ch);

/* Do its running ops want bytes that have not come yet? */
bool coll_ch_wants(struct coll_channel *ch);

/* Is one of them about to end, and make room for the next one? */
bool coll_ch_is_ending(const struct coll_channel *ch);

/* rx_msg.c */

/**
 * struct coll_rx_walk - a part of a socket buffer, piece by piece
 * @feed: called for each piece; 0, or an error that ends the walk
 * @to: for @feed
 * @skip: bytes before the part; counts down
 * @want: bytes of it; counts down
 */
struct coll_rx_walk {
	int (*feed)(void *to, const u8 *data, u32 len);
	void *to;
	u32 skip;
	u32 want;
};

/* Return: 0; an error of @feed; -EPROTO bytes that cannot be read. May sleep. */
int coll_rx_walk(struct coll_rx_walk *w, struct sk_buff *skb);

/**
 * coll_ch_expects() - may this MSG frame come?
 * @ch: its channel
 * @f: header
 *
 * Return: false: throw it away; what is wrong has been reported, or is about to be.
 */
bool coll_ch_expects(struct coll_channel *ch, const struct coll_frame *f);

/**
 * coll_ch_take_msg() - payload of a MSG frame
 * @ch: its channel
 * @f: its header, which has been expected
 * @skb: buffer
 * @off: from here on
 * @len: bytes
 *
 * Return: bytes taken; -EPROTO they cannot be read; -ECANCELED nobody wants them any
 * more; -ENODATA they could not be stored, which fails the group, or is about to.
 */
int coll_ch_take_msg(struct coll_channel *ch, const struct coll_frame *f,
		     struct sk_buff *skb, u32 off, u32 len);

/* RTS or CTS, whole. Return: 0 or -EPROTO. */
int coll_ch_msg_ctrl(struct coll_channel *ch, const struct coll_frame *f,
		     const u8 *payload);

#endif /* COLL_XPORT_RX_H */
