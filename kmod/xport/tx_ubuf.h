/* SPDX-License-Identifier: GPL-2.0 */
/* Zerocopy by the socket: the stack tells when it has released the pages. */
#ifndef COLL_XPORT_TX_UBUF_H
#define COLL_XPORT_TX_UBUF_H

#include <linux/types.h>

struct bio_vec;
struct coll_channel;
struct coll_stream;

/**
 * coll_tx_ubuf() - give pages to the socket without a copy
 * @st: data stream, in the middle of a frame of DATA; its channel has a ref of the op for that
 * @bv: runs of pages that stay as they are
 * @nr: number of @bv
 * @bytes: in them
 * @more: the rest of the frame follows at once
 *
 * Return: as coll_tx_send().
 */
int coll_tx_ubuf(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more);

/*
 * Position of the first send whose pages the stack still has, as coll_exec_sent_bytes() counts;
 * U64_MAX: there is none. Under conn->lock.
 */
u64 coll_ubuf_first(struct coll_channel *ch);

#endif /* COLL_XPORT_TX_UBUF_H */
