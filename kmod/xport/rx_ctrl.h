/* SPDX-License-Identifier: GPL-2.0 */
/* Obeys control frames. */
#ifndef COLL_XPORT_RX_CTRL_H
#define COLL_XPORT_RX_CTRL_H

#include <linux/types.h>

struct coll_stream;

/**
 * coll_rx_ctrl() - obey a control frame that is whole
 * @st: stream with the frame
 *
 * Return: 0; -EPROTO if the stream cannot be used any more. Errors that concern only the
 * channel have been reported.
 */
int coll_rx_ctrl(struct coll_stream *st);

#endif /* COLL_XPORT_RX_CTRL_H */
