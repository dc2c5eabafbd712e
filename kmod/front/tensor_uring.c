// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives by io_uring: an SQE posts an array of tensors, another one collects
 * results. One CQE per SQE.
 *
 * A CQE for each tensor of one SQE is not possible: Linux 6.1 and 6.12 let a command of a
 * driver complete once.
 */
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/kernel.h>
#include <linux/uaccess.h>

#include <linux/coll.h>

#include "../compat.h"
#include "../core/tensor/tensor_life.h"
#include "end.h"
#include "file.h"
#include "refs.h"
#include "tensor.h"
#include "tensor_uring.h"

/* The number in user memory, which may change at any time. */
static int coll_uring_count(u32 __user *at)
{
	u32 n;

	if (get_user(n, at) || n > COLL_TENSOR_CALL_MAX)
		return -EFAULT;
	return n;
}

static int coll_uring_post(struct coll_file *cf, u64 arg, u32 len)
{
	return coll_ioc_tensor_post(cf, u64_to_user_ptr(arg), len);
}

static int coll_uring_wait(struct coll_file *cf, u64 arg, u32 len)
{
	struct coll_tensor_wait __user *to = u64_to_user_ptr(arg);
	int ret = coll_ioc_tensor_wait(cf, to, len);

	/* io_uring does not restart calls. */
	if (ret == -ERESTARTSYS)
		return -EINTR;
	return ret ?: coll_uring_count(&to->got);
}

/* Does this collect without waiting? */
static bool coll_uring_polls(u64 arg)
{
	struct coll_tensor_wait __user *w = u64_to_user_ptr(arg);
	u32 min;

	return get_user(min, &w->min) || !min;
}

int coll_uring_tensors(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg, u32 len,
		       unsigned int issue_flags)
{
	bool holds_file = !(cmd_to_io_kiocb(cmd)->flags & REQ_F_FIXED_FILE);
	bool post = cmd->cmd_op == COLL_URING_TENSOR_POST;
	int ret;

	if (cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	/*
	 * A thread of io_uring waits, so that submitting does not. User space may change @min
	 * after this look. Then the submitter waits, which harms nobody else.
	 */
	if (!post && issue_flags & IO_URING_F_NONBLOCK && !coll_uring_polls(arg))
		return -EAGAIN;
	if (holds_file)
		coll_end_hold(cf);
	ret = post ? coll_uring_post(cf, arg, len) : coll_uring_wait(cf, arg, len);
	if (holds_file)
		coll_end_drop(cf);
	/* Not by return value: io_uring would try -EAGAIN again, later. */
	coll_cmd_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}
