/* SPDX-License-Identifier: GPL-2.0 */
/* Streams that have ended. */
#ifndef COLL_XPORT_LOST_H
#define COLL_XPORT_LOST_H

#include <linux/types.h>

struct coll_channel;

/* A stream has ended: is that in order? Under conn->lock. */
void coll_ch_check_lost(struct coll_channel *ch);

/* The work ch->lost: some time later, fail the group if the end is still not in order. */
void coll_ch_lost(struct work_struct *work);

#endif /* COLL_XPORT_LOST_H */
