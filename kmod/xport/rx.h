/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side. A stream is cut into frames (rx.c); control frames are obeyed when they are
 * whole (rx_ctrl.c); DATA goes to its channel (rx_data.c), from the socket or from the backlog;
 * MSG to the receive that expects it (rx_msg.c).
 */
#ifndef COLL_XPORT_RX_H
#define COLL_XPORT_RX_H

#include <linux/types.h>

struct coll_stream;

/**
 * coll_rx() - read what there is, and what running ops want
 * @st: stream, under conn->lock
 *
 * Sets st->closed and st->bad. Reports wrong bytes by failing channels.
 * Return: true if there may be more to do now.
 */
bool coll_rx(struct coll_stream *st);

#endif /* COLL_XPORT_RX_H */
