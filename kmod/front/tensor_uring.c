// SPDX-License-Identifier: GPL-2.0
/*
 * Named collectives by io_uring: an SQE posts an array of tensors, another one collects
 * results. One CQE per SQE.
 *
 * A CQE for each tensor of one SQE is not possible: Linux 6.1 and 6.12 let a command of a
 * driver complete once.
 */
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/ioctl.h>
#include <linux/kernel.h>
#include <linux/mm.h>

#include <linux/coll.h>

#include "../compat.h"
#include "end.h"
#include "file.h"
#include "refs.h"
#include "tensor_await.h"
#include "tensor_post.h"
#include "tensor_uring.h"
#include "tensor_wait.h"

/*
 * Set in cmd->flags when struct coll_uring_args is valid. io_uring sets these flags from the SQE,
 * and refuses unknown bits, so it is clear at first. A thread of io_uring may also be the first
 * one to issue a command: after IOSQE_ASYNC, or in a link.
 */
#define COLL_URING_AGAIN	BIT(23)

/**
 * struct coll_uring_args - what the SQE says, kept in the command
 * @arg: user address
 * @len: size of the struct there
 */
struct coll_uring_args {
	u64 arg;
	u32 len;
};

static struct coll_uring_args *coll_uring_args_of(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct coll_uring_args) > sizeof(cmd->pdu));
#ifdef IORING_URING_CMD_MASK
	BUILD_BUG_ON(COLL_URING_AGAIN & IORING_URING_CMD_MASK);
#endif
	return (struct coll_uring_args *)cmd->pdu;
}

/* A command, copied in. */
union coll_uring_tensor_args {
	struct coll_tensor_post post;
	struct coll_tensor_wait wait;
};

/*
 * Check the struct size that the SQE gives: at least the first published size. At most a page,
 * because the ring is locked while the struct is read.
 */
static int coll_uring_check_len(bool post, u32 len)
{
	if (len > PAGE_SIZE)
		return -E2BIG;
	return len < _IOC_SIZE(post ? COLL_IOC_TENSOR_POST : COLL_IOC_TENSOR_WAIT) ? -EINVAL : 0;
}

static int coll_uring_copy(union coll_uring_tensor_args *args, bool post, u64 arg, u32 len)
{
	int ret = coll_uring_check_len(post, len);

	if (ret)
		return ret;
	if (post)
		return coll_post_copy(&args->post, u64_to_user_ptr(arg), len);
	ret = coll_wait_copy(&args->wait, u64_to_user_ptr(arg), len);
	/* Post and wait in one command is for ioctl only: with io_uring submit two SQEs. */
	return ret ?: args->wait.post ? -EINVAL : 0;
}

/* Return: number of results, or an error. */
static int coll_uring_wait(struct coll_file *cf, u64 arg, struct coll_tensor_wait *w)
{
	int ret = coll_wait_tensors(cf, u64_to_user_ptr(arg), w);

	/* io_uring does not restart calls. */
	if (ret == -ERESTARTSYS)
		return -EINTR;
	return ret ?: (int)w->got;
}

/* Return: -EIOCBQUEUED; -EAGAIN: a thread of io_uring has to wait; another error of the arguments. */
static int coll_uring_run(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg, u32 len,
			  unsigned int issue_flags)
{
	bool holds_file = !(cmd_to_io_kiocb(cmd)->flags & REQ_F_FIXED_FILE);
	bool post = cmd->cmd_op == COLL_URING_TENSOR_POST;
	bool nonblock = issue_flags & IO_URING_F_NONBLOCK;
	union coll_uring_tensor_args args;
	int ret;

	if (cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	ret = coll_uring_copy(&args, post, arg, len);
	if (ret)
		return ret;
	if (nonblock && !post && args.wait.min)
		return coll_await_begin(cf, cmd, arg, &args.wait, issue_flags);
	/* Let a thread of io_uring wait: the submitter holds locks of the ring. */
	if (nonblock && post && coll_post_has_group(&args.post))
		return -EAGAIN;
	if (holds_file)
		coll_end_hold(cf);
	if (post)
		ret = coll_post_tensors(cf, u64_to_user_ptr(arg), &args.post, nonblock);
	else
		ret = coll_uring_wait(cf, arg, &args.wait);
	if (holds_file)
		coll_end_drop(cf);
	/* Do not return @ret: io_uring would retry -EAGAIN later. */
	coll_cmd_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}

int coll_uring_tensors(struct coll_file *cf, struct io_uring_cmd *cmd, u64 arg, u32 len,
		       unsigned int issue_flags)
{
	int ret = coll_uring_run(cf, cmd, arg, len, issue_flags);

	if (ret == -EAGAIN) {
		*coll_uring_args_of(cmd) = (struct coll_uring_args){ .arg = arg, .len = len };
		cmd->flags |= COLL_URING_AGAIN;
	}
	return ret;
}

bool coll_uring_is_again(const struct io_uring_cmd *cmd)
{
	return cmd->flags & COLL_URING_AGAIN;
}

int coll_uring_again(struct coll_file *cf, struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct coll_uring_args args = *coll_uring_args_of(cmd);

	return coll_uring_run(cf, cmd, args.arg, args.len, issue_flags);
}
