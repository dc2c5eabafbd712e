/* SPDX-License-Identifier: GPL-2.0 */
/* The send side: control frames as they are due (tx_ctrl.c), DATA and MSG (tx_data.c). */
#ifndef COLL_XPORT_TX_H
#define COLL_XPORT_TX_H

#include <linux/jiffies.h>
#include <linux/types.h>

#include "channel.h"

struct bio_vec;

/*
 * How long a peer may take to answer an ABORT: one that lives does so at once, with its
 * own. That its TCP has ours says nothing of who reads there, who may just be waiting for
 * a page.
 */
#define COLL_TX_GRACE		HZ

/* tx_ctrl.c */

/* Put a header into the buffer of a stream; payload may follow there. */
void coll_tx_frame(struct coll_stream *st, const struct coll_frame *f);

/* The first frames of each stream: HELLO and PROOF. Return: false if none is due. */
bool coll_tx_greet(struct coll_stream *st);

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
int coll_tx_result(struct coll_stream *st, int ret, enum coll_nl_send_mode mode);

/* What is left of the buffer, as a piece. */
void coll_tx_head_bvec(struct coll_stream *st, struct bio_vec *bv);

/* Send HELLO, PROOF, ABORT, RTS, CTS, BYE, POST and ACK of all channels as they are due. */
void coll_tx_ctrl(struct coll_stream *st);

/* tx_data.c */

/**
 * coll_tx_data() - send what running ops and messages have for the peer, in turns
 * @st: data stream, under conn->lock
 *
 * Return: true if the budget was used up.
 */
bool coll_tx_data(struct coll_stream *st);

/* tx_ack.c: all under conn->lock */

/* A frame of DATA begins: it is not counted in ->tx_sent yet. */
void coll_tx_mark(const struct coll_stream *st, struct coll_channel *ch);

/* The peer has acknowledged up to ->tx_acked: can that be true? */
void coll_tx_acked(struct coll_channel *ch);

/* Look again where it seemed not to be, and fail who has been lied to. Sleeps. */
void coll_tx_settle_doubts(struct coll_conn *conn);

/* tx_lend.c */

/* The peer is not to get anything more by this stream. */
void coll_tx_break_off(struct coll_stream *st);

/**
 * coll_tx_mode() - how is a frame to go?
 * @ch: channel
 * @step: what it is of
 * @bytes: its payload
 */
enum coll_nl_send_mode coll_tx_mode(struct coll_channel *ch,
				    const struct coll_exec_step *step, u32 bytes);

/* How large frames go, as things stand. Any context. */
enum coll_nl_send_mode coll_tx_mode_now(const struct coll_conn *conn);

/**
 * coll_tx_lend() - pages of ->tx_op are about to be lent
 * @ch: channel
 *
 * The op does not end before coll_tx_reclaim() has got them back.
 */
void coll_tx_lend(struct coll_channel *ch);

/**
 * coll_tx_reclaim() - let go of pages that nobody reads any more
 * @ch: channel, under conn->lock
 *
 * May end the op that they belong to. What is lent when the op has failed, or a stream
 * has closed, is taken back; the stack gets a moment to let go of its own accord.
 */
void coll_tx_reclaim(struct coll_channel *ch);

/* tx_choice.c: all under conn->lock */

/* How this large frame of ->tx_op is to go, which may be a trial. */
enum coll_nl_send_mode coll_choice_mode(struct coll_channel *ch);

/* ->tx_op sends a frame otherwise: it is no trial any more. */
void coll_choice_skip(struct coll_channel *ch);

/**
 * coll_choice_asks() - is the peer to say when it has consumed the frame?
 * @ch: channel; ->tx_sent counts the frame
 * @last: it is the last one of the op for the peer
 */
bool coll_choice_asks(struct coll_channel *ch, bool last);

/* The peer has consumed more: that may end a trial. */
void coll_choice_acked(struct coll_channel *ch);

/* The channel is no more. */
void coll_choice_leave(struct coll_channel *ch);

/* tx_ubuf.c */

/**
 * coll_tx_ubuf() - lend pages to the socket; the stack says when it is through with them
 * @st: data stream, in the middle of a frame of DATA
 * @bv: runs of pages that stay as they are
 * @nr: how many
 * @bytes: in them
 * @more: the rest of the frame follows at once
 *
 * Return: as coll_tx_send().
 */
int coll_tx_ubuf(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more);

#endif /* COLL_XPORT_TX_H */
