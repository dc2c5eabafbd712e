/* SPDX-License-Identifier: GPL-2.0 */
/* Sends control frames as they are due. */
#ifndef COLL_XPORT_TX_CTRL_H
#define COLL_XPORT_TX_CTRL_H

#include <linux/types.h>

#include "conn.h"

struct bio_vec;
struct coll_frame;
struct coll_stream;

/* Append one of the first frames of a stream, HELLO and PROOF. Return: false if none is due. */
bool coll_tx_greet(struct coll_stream *st);

/**
 * coll_tx_send() - one sendmsg
 * @st: stream
 * @bv: pieces
 * @nr: number of @bv
 * @bytes: in them
 * @more: the rest of the frame follows at once
 *
 * Return: bytes taken by the socket, 0 if it has no room, negative if broken.
 */
int coll_tx_send(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more);

/* Count and classify what a socket has returned. Return: as coll_tx_send(). */
int coll_tx_result(struct coll_stream *st, int ret, enum coll_nl_send_mode mode);

/* The unsent rest of ->tx_buf, as a bio_vec. */
void coll_tx_head_bvec(struct coll_stream *st, struct bio_vec *bv);

/*
 * Send all control frames of all channels that are due, for COLL_WORK_MS at most. Return: there
 * is more.
 */
bool coll_tx_ctrl(struct coll_stream *st);

/* All in the buffer of a stream has been sent: begin it anew. */
void coll_tx_rewind(struct coll_stream *st);

/* Append a header to what is in the buffer of a stream; payload may follow there. */
void coll_tx_frame(struct coll_stream *st, const struct coll_frame *f);

#endif /* COLL_XPORT_TX_CTRL_H */
