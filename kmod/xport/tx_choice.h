/* SPDX-License-Identifier: GPL-2.0 */
/* How large frames are sent: the fastest mode, found by trials. All under conn->lock. */
#ifndef COLL_XPORT_TX_CHOICE_H
#define COLL_XPORT_TX_CHOICE_H

#include <linux/types.h>

struct coll_channel;

/* The mode of this large frame of ->tx_op, which may be a trial. */
enum coll_nl_send_mode coll_choice_mode(struct coll_channel *ch);

/* ->tx_op sends a large frame without asking for a mode: no trial may begin with it. */
void coll_choice_skip(struct coll_channel *ch);

/**
 * coll_choice_asks() - should the peer acknowledge the frame when it has consumed it?
 * @ch: channel; ->tx_sent counts the frame
 * @last: it is the last one of the op for the peer
 */
bool coll_choice_asks(struct coll_channel *ch, bool last);

/* The peer has consumed more: that may end a trial. */
void coll_choice_acked(struct coll_channel *ch);

/* The channel leaves the conn: its trial ends without a result. */
void coll_choice_leave(struct coll_channel *ch);

#endif /* COLL_XPORT_TX_CHOICE_H */
