// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "buf_span.h"
#include "pieces.h"

struct coll_buf *coll_pieces_alloc(u32 most)
{
	struct coll_buf *buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);

	if (!buf)
		return NULL;
	kref_init(&buf->ref);
	buf->pieces = kvmalloc_array(most, sizeof(*buf->pieces), GFP_KERNEL_ACCOUNT);
	if (!buf->pieces) {
		kfree(buf);
		return NULL;
	}
	buf->most_pieces = most;
	buf->write = true;
	return buf;
}

int coll_pieces_add(struct coll_buf *buf, const struct coll_vec *vec, u64 off, u64 len)
{
	struct coll_piece *p;

	if (!vec->buf || !coll_vec_has(vec, off, len) || buf->nr_pieces == buf->most_pieces ||
	    len > COLL_PIECES_BYTES - buf->len)
		return -EBADE;
	p = &buf->pieces[buf->nr_pieces++];
	p->at = buf->len;
	p->vec = (struct coll_vec){ .buf = vec->buf, .start = vec->start + off };
	coll_buf_get(vec->buf);
	buf->len += len;
	buf->windows |= !vec->buf->pages;
	buf->write &= vec->buf->write;
	return 0;
}
