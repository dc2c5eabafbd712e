// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../../pure/optable.h"
#include "../../pure/reduction/identity.h"
#include "../group/op_state.h"
#include "../group/req.h"
#include "absent.h"

static int coll_fill_identity(struct coll_buf *buf, u32 op, u32 dtype)
{
	u32 size = coll_dtype_size(dtype);
	u8 elem[COLL_IDENTITY_MAX], *page;
	unsigned long i;
	size_t at;

	if (!size || !coll_identity(op, dtype, elem))
		return -EBADE;
	for (i = 0; i < buf->nr_pages; i++) {
		page = page_address(buf->pages[i]);
		for (at = 0; at < PAGE_SIZE; at += size)
			memcpy(page + at, elem, size);
		cond_resched();
	}
	return 0;
}

int coll_absent_fill(struct coll_op *op)
{
	struct coll_req *req = list_first_entry(&op->reqs, struct coll_req, list);
	struct coll_buf *buf;
	int ret;

	/* Others have vectors; or it was deferred, and has its one. */
	if (op->nr_absent < op->group->nr_local || !req->bytes || req->in.buf)
		return 0;
	buf = coll_buf_scratch(req->bytes, false);
	if (!buf)
		return -ENOMEM;
	ret = coll_fill_identity(buf, op->cmd.op, op->cmd.dtype);
	if (ret) {
		coll_buf_put(buf);
		return ret;
	}
	coll_buf_get(buf);
	req->in = (struct coll_vec){ .buf = buf };
	req->out = req->in;
	req->in_bytes = req->bytes;
	req->cmd.flags |= COLL_CMD_INPLACE;
	return 0;
}
