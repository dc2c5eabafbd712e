/* SPDX-License-Identifier: GPL-2.0 */
/* The send side: control frames as they are due (tx_ctrl.c), DATA and MSG (tx_data.c). */
#ifndef COLL_XPORT_TX_H
#define COLL_XPORT_TX_H

#include <linux/types.h>

struct bio_vec;
struct coll_frame;
struct coll_stream;

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

#endif /* COLL_XPORT_TX_H */
