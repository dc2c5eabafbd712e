/* SPDX-License-Identifier: GPL-2.0 */
/* Pages that are lent to the stack, which says when it is through with them. */
#ifndef COLL_XPORT_TX_UBUF_H
#define COLL_XPORT_TX_UBUF_H

#include <linux/types.h>

struct bio_vec;
struct coll_stream;

/**
 * coll_tx_ubuf() - lend pages to the socket; the stack says when it is through with them
 * @st: data stream, in the middle of a frame of DATA
 * @bv: runs of pages that stay as they are
 * @nr: how many
 * @bytes: in them
 * @more: the rest of the frame follows at once
 *
 * Return: as coll_tx_send().
 */
int coll_tx_ubuf(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more);

#endif /* COLL_XPORT_TX_UBUF_H */
