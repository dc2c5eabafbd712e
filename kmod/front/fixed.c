// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/uio.h>

#include "../compat.h"
#include "../core/mem/buf.h"
#include "decode.h"
#include "fixed.h"
#include "take.h"

int coll_fixed_vec(const struct coll_range *r, struct coll_vec *v)
{
	const struct coll_fixed *f = r->fixed;
	struct coll_buf *buf;
	struct iov_iter iter;
	int ret = 0;

	/*
	 * Memory of the application allows both directions. A driver may have registered memory
	 * that may only be written; then its old content must not be read.
	 */
	if (r->read)
		ret = coll_import_fixed(f->cmd, r->addr, r->len, ITER_SOURCE, &iter,
					f->issue_flags);
	if (!ret && r->write)
		ret = coll_import_fixed(f->cmd, r->addr, r->len, ITER_DEST, &iter,
					f->issue_flags);
	if (ret)
		return ret;
	/* The array belongs to io_uring: coll_buf_borrow() copies the entries that it needs. */
	buf = coll_buf_borrow(iter.bvec, iter.iov_offset, r->len, r->write);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	v->buf = buf;
	v->start = 0;
	return 0;
}
