// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../../pure/optable.h"
#include "../../pure/reduction/identity.h"
#include "../group/op_state.h"
#include "../group/req.h"
#include "../limits.h"
#include "absent.h"

/* Pages that one call allocates and fills. */
#define COLL_ABSENT_PAGES	(COLL_WORK_BUDGET >> PAGE_SHIFT)

/* Fill pages of @buf with the identity of @op, from page @from on. */
static int coll_fill_identity(struct coll_buf *buf, unsigned long from, u32 op, u32 dtype)
{
	u32 size = coll_dtype_size(dtype);
	u8 elem[COLL_IDENTITY_MAX], *page;
	unsigned long i;
	size_t at;

	if (!size || !coll_identity(op, dtype, elem))
		return -EBADE;
	for (i = from; i < buf->nr_pages; i++) {
		page = page_address(buf->pages[i]);
		for (at = 0; at < PAGE_SIZE; at += size)
			memcpy(page + at, elem, size);
		cond_resched();
	}
	return 0;
}

/* Return: 1 @buf has all its pages, 0 not yet, -ENOMEM, -EBADE. */
static int coll_absent_more(struct coll_op *op, struct coll_buf *buf)
{
	unsigned long from = buf->nr_pages;
	int more = coll_buf_scratch_more(buf, COLL_ABSENT_PAGES);
	/* Also after an error: the pages that are there stay, and the op may try again later. */
	int ret = coll_fill_identity(buf, from, op->cmd.op, op->cmd.dtype);

	return ret ?: more;
}

int coll_absent_fill(struct coll_op *op)
{
	struct coll_req *req = list_first_entry(&op->reqs, struct coll_req, list);
	int ret;

	/* A local rank has a vector; or the op was deferred after its vector had been made. */
	if (op->nr_absent < op->group->nr_local || !req->bytes || req->out.buf)
		return 0;
	if (!req->in.buf)
		req->in.buf = coll_buf_scratch_begin(req->bytes);
	if (!req->in.buf)
		return -ENOMEM;
	ret = coll_absent_more(op, req->in.buf);
	if (ret <= 0)
		return ret ?: -EINPROGRESS;
	coll_buf_get(req->in.buf);
	req->out = req->in;
	req->in_bytes = req->bytes;
	req->cmd.flags |= COLL_CMD_INPLACE;
	return 0;
}
