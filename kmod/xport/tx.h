/* SPDX-License-Identifier: GPL-2.0 */
/* The send side: control frames as they are due (tx_ctrl.c), DATA and MSG (tx_data.c). */
#ifndef COLL_XPORT_TX_H
#define COLL_XPORT_TX_H

#include <linux/types.h>

#include "channel.h"

struct bio_vec;

/* tx_ctrl.c */

/* Put a header into the buffer of a stream; payload may follow there. */
void coll_tx_frame(struct coll_stream *st, const struct coll_frame *f);

/* The first frame of each stream. */
void coll_tx_hello(struct coll_stream *st);

/**
 * coll_tx_send() - one sendmsg
 * @st: stream
 * @bv: pieces
 * @nr: how many
 * @bytes: in them
 * @more: the rest of the frame follows at once
 *
 * Return: bytes taken by the socket, 0 if it has no room, negative if broken.
 */
int coll_tx_send(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more);

/* Count and classify what a socket has returned. Return: as coll_tx_send(). */
int coll_tx_result(struct coll_stream *st, int ret);

/* What is left of the buffer, as a piece. */
void coll_tx_head_bvec(struct coll_stream *st, struct bio_vec *bv);

/* Send HELLO, ABORT, RTS, CTS, BYE, POST and ACK of all channels as they are due. */
void coll_tx_ctrl(struct coll_stream *st);

/* tx_data.c */

/**
 * coll_tx_data() - send what running ops and messages have for the peer, in turns
 * @st: data stream, under conn->lock
 *
 * Return: true if the budget was used up.
 */
bool coll_tx_data(struct coll_stream *st);

/* tx_splice.c */

/**
 * coll_tx_may_splice() - may a frame go without a copy?
 * @ch: channel
 * @step: what it is of
 * @bytes: its payload
 */
bool coll_tx_may_splice(const struct coll_channel *ch, const struct coll_exec_step *step,
			u32 bytes);

/**
 * coll_tx_lend() - the frame that has just begun refers to pages of the running op
 * @ch: channel; ->tx_sent counts the frame
 *
 * The op does not end before coll_tx_reclaim() has got them back.
 */
void coll_tx_lend(struct coll_channel *ch);

/* Does the peer still have pages of the running op? Then it is to say when it has not. */
static inline bool coll_tx_lends(const struct coll_channel *ch)
{
	return ch->lent && ch->tx_acked < ch->lent_until;
}

/**
 * coll_tx_splice() - give pages to the socket
 * @st: data stream
 * @bv: runs of pages that stay as they are
 * @nr: how many
 * @bytes: in them
 * @more: the rest of the frame follows at once
 *
 * Return: as coll_tx_send().
 */
int coll_tx_splice(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		   u32 bytes, bool more);

/**
 * coll_tx_reclaim() - let go of pages that nobody reads any more
 * @ch: channel, under conn->lock
 *
 * May end the op that they belong to. What is still with the peer when the op has
 * failed, or a stream has closed, is waited for, but for a moment only.
 */
void coll_tx_reclaim(struct coll_channel *ch);

#endif /* COLL_XPORT_TX_H */
