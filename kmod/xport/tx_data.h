/* SPDX-License-Identifier: GPL-2.0 */
/* Sends DATA and MSG. */
#ifndef COLL_XPORT_TX_DATA_H
#define COLL_XPORT_TX_DATA_H

#include <linux/types.h>

struct coll_stream;

/**
 * coll_tx_data() - send what running ops and messages have for the peer, in turns
 * @st: data stream, under conn->lock
 *
 * Ends after COLL_WORK_BUDGET bytes or COLL_WORK_MS, whichever comes first.
 * Return: true if there may be more to send.
 */
bool coll_tx_data(struct coll_stream *st);

#endif /* COLL_XPORT_TX_DATA_H */
