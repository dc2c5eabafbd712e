/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side. A stream is cut into frames (rx.c); control frames are obeyed
 * when they are whole (rx_ctrl.c); DATA goes to its channel (rx_data.c), from the
 * socket or from what was put aside. Another type of frame with bytes for somebody
 * wants a state of its own in enum coll_rx_state.
 */
#ifndef COLL_XPORT_RX_H
#define COLL_XPORT_RX_H

#include <linux/types.h>

struct coll_channel;
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
struct coll_frame;
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

/* Does its running op want bytes that have not come yet? */
bool coll_ch_wants(struct coll_channel *ch);

#endif /* COLL_XPORT_RX_H */
