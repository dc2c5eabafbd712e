/* SPDX-License-Identifier: GPL-2.0 */
/* Zerocopy: pages that the peer or the stack reads where they are. */
#ifndef COLL_XPORT_TX_ZEROCOPY_H
#define COLL_XPORT_TX_ZEROCOPY_H

#include <linux/types.h>

struct coll_channel;
struct coll_conn;
struct coll_exec_step;
struct coll_op;
struct coll_stream;

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
 * coll_tx_zerocopy() - pages of ->tx_op are about to be sent without a copy
 * @ch: channel
 *
 * The op does not end before coll_tx_reclaim() has got them back.
 */
void coll_tx_zerocopy(struct coll_channel *ch);

/**
 * coll_tx_free() - pages of an op that nobody reads any more: a tensor may be over
 * @ch: channel, under conn->lock, that sends something of @op
 * @op: with a ref
 */
void coll_tx_free(struct coll_channel *ch, struct coll_op *op);

/**
 * coll_tx_reclaim() - let go of pages that nobody reads any more
 * @ch: channel, under conn->lock
 *
 * May end the op that they belong to. Pages that are out when the op has failed, or a stream
 * has closed, are taken back; the stack gets a moment to let go by itself.
 */
void coll_tx_reclaim(struct coll_channel *ch);

#endif /* COLL_XPORT_TX_ZEROCOPY_H */
