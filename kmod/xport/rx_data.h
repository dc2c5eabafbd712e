/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DATA goes to the step that expects it. All under conn->lock, during a pass over data.
 */
#ifndef COLL_XPORT_RX_DATA_H
#define COLL_XPORT_RX_DATA_H

#include <linux/types.h>

struct coll_channel;
struct coll_frame;
struct sk_buff;

/**
 * struct coll_rx_walk - walks a part of a socket buffer, piece by piece
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

/* Return: 0; an error of @feed; -EPROTO: bytes cannot be read. May sleep. */
int coll_rx_walk(struct coll_rx_walk *w, struct sk_buff *skb);

/**
 * coll_ch_take_header() - begin a frame
 * @ch: between frames
 * @f: its header, decoded
 */
void coll_ch_take_header(struct coll_channel *ch, const struct coll_frame *f);

/**
 * coll_ch_room() - find the step that a frame is for, and the payload bytes that it may take now
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

/* May the peer lend to the channel, that is, is the peer in this kernel? */
bool coll_ch_may_read_loans(struct coll_channel *ch);

/* Is the frame that the channel has begun a loan? */
bool coll_ch_on_loan(const struct coll_channel *ch);

/**
 * coll_ch_read_loan() - read payload from where the peer has it
 * @ch: with the header of a loan
 * @most: bytes at most
 *
 * Return: bytes read.
 */
u32 coll_ch_read_loan(struct coll_channel *ch, u32 most);

/**
 * coll_ch_drain() - take the bytes of the backlog, as far as ops want them
 * @ch: channel
 *
 * Also looks again at a header that waits for its op.
 * Return: true if the budget was used up.
 */
bool coll_ch_drain(struct coll_channel *ch);

/* Does the channel have a backlog, or a frame that it has begun? Then these bytes come first. */
bool coll_ch_pending(const struct coll_channel *ch);

/* Do its running ops want bytes that have not come yet? */
bool coll_ch_wants(struct coll_channel *ch);

/* Is one of its running ops about to end, and make room for the next op? */
bool coll_ch_is_ending(const struct coll_channel *ch);

#endif /* COLL_XPORT_RX_DATA_H */
