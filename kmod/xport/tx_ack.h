/* SPDX-License-Identifier: GPL-2.0 */
/* Acknowledgements: can they be true? All under conn->lock. */
#ifndef COLL_XPORT_TX_ACK_H
#define COLL_XPORT_TX_ACK_H

#include <linux/types.h>

struct coll_channel;
struct coll_conn;

/* The peer has acknowledged up to ->tx_acked: can that be true? */
void coll_tx_acked(struct coll_channel *ch);

/* Check doubtful ACKs once more; fail the groups whose peer sent a false ACK. Sleeps. */
void coll_tx_settle_doubts(struct coll_conn *conn);

/* A frame of DATA begins: it is not counted in ->tx_sent yet. */
void coll_tx_mark(const struct coll_stream *st, struct coll_channel *ch);

#endif /* COLL_XPORT_TX_ACK_H */
