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

/* Reset the stream: the peer gets nothing more from it. */
void coll_tx_break_off(struct coll_stream *st);

/**
 * coll_tx_mode() - choose how a frame is sent
 * @ch: channel
 * @step: step that the frame is of
 * @bytes: its payload
 */
enum coll_nl_send_mode coll_tx_mode(struct coll_channel *ch,
				    const struct coll_exec_step *step, u32 bytes);

/* How large frames are sent at present. Any context. */
enum coll_nl_send_mode coll_tx_mode_now(const struct coll_conn *conn);

/**
 * coll_tx_zerocopy() - pages of ->tx_op are about to be sent without a copy
 * @ch: channel
 *
 * The op does not end before coll_tx_reclaim() has got them back.
 */
void coll_tx_zerocopy(struct coll_channel *ch);

/**
 * coll_tx_free() - report pages of an op that are not read any more: a tensor may end
 * @ch: channel, under conn->lock, that sends something of @op
 * @op: with a ref
 */
void coll_tx_free(struct coll_channel *ch, struct coll_op *op);

/**
 * coll_tx_reclaim() - release pages that are not read any more
 * @ch: channel, under conn->lock
 *
 * May end the op that they belong to. Pages that are out when the op has failed, or a stream
 * has closed, are taken back; the stack gets COLL_TX_GRACE to release them by itself.
 */
void coll_tx_reclaim(struct coll_channel *ch);

#endif /* COLL_XPORT_TX_ZEROCOPY_H */
