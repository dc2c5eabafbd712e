// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/slab.h>

#include "../compat.h"
#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/op/op.h"
#include "decode.h"
#include "end.h"
#include "file.h"
#include "fixed.h"
#include "flight.h"
#include "refs.h"
#include "tensor_uring.h"
#include "uring.h"

/*
 * An io_uring command in flight. Owner: core from posting on, then the task work
 * that completes the command. Exactly one CQE comes of it.
 */
struct coll_uring {
	struct coll_flight flight;
	struct io_uring_cmd *cmd;
	bool holds_file;	/* not a fixed file: counts, see end.h */
};

static struct coll_uring **coll_pdu(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct coll_uring *) > sizeof(cmd->pdu));
	return (struct coll_uring **)cmd->pdu;
}

static void coll_uring_free(struct coll_uring *u)
{
	if (u->holds_file)
		coll_end_drop(u->flight.cf);
	kfree(u);
}

/* In the task that submitted, or in whatever io_uring has in its place. */
static void coll_uring_finish(COLL_TW_ARGS)
{
	struct io_uring_cmd *cmd = coll_tw_cmd();
	struct coll_uring *u = *coll_pdu(cmd);
	int result = coll_deliver(&u->flight.req, u->flight.result);

	coll_uring_free(u);
	coll_cmd_done(cmd, result, coll_tw_flags());
}

static void coll_uring_landed(struct coll_flight *f)
{
	struct coll_uring *u = container_of(f, struct coll_uring, flight);

	coll_cmd_finish_in_task(u->cmd, coll_uring_finish);
}

/* The ring or the task goes, and asks for every command in flight. */
static int coll_uring_cancel(struct coll_file *cf)
{
	coll_end_cancelled(cf);
	return 0;
}

static int coll_uring_submit(struct coll_file *cf, struct io_uring_cmd *cmd,
			     u64 arg, u32 len, unsigned int issue_flags)
{
	struct coll_uring *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	struct coll_fixed fixed = { .cmd = cmd, .issue_flags = issue_flags };
	u64 begin = coll_account_begin();
	bool holds_file;
	int ret;

	if (!u)
		return coll_refused(cf->member, -ENOMEM);
	u->flight.landed = coll_uring_landed;
	ret = coll_flight_decode(&u->flight, cf, arg, len,
				 cmd->flags & IORING_URING_CMD_FIXED ? &fixed : NULL);
	if (ret) {
		kfree(u);
		return ret;
	}
	u->cmd = cmd;
	u->holds_file = !(cmd_to_io_kiocb(cmd)->flags & REQ_F_FIXED_FILE);
	*coll_pdu(cmd) = u;
	holds_file = u->holds_file;
	if (holds_file)
		coll_end_hold(cf);

	/* Before posting: afterwards the command may be complete and gone. */
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	ret = coll_flight_post(&u->flight);
	/* io_uring holds the file while it issues, even if the command has completed. */
	coll_account_call(cf->member, begin);
	if (ret) {
		coll_uring_free(u);
		/* Not by return value: io_uring would try -EAGAIN again, later. */
		coll_cmd_done(cmd, ret, issue_flags);
		return -EIOCBQUEUED;
	}
	coll_end_posted(cf, holds_file);
	return -EIOCBQUEUED;
}

int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct coll_file *cf = cmd->file->private_data;
	const struct coll_sqe *sqe;
	u32 len, flags;
	u64 arg;

	if (issue_flags & IO_URING_F_CANCEL)
		return coll_uring_cancel(cf);
	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	if (cmd->cmd_op != COLL_URING_SUBMIT && cmd->cmd_op != COLL_URING_TENSOR_POST &&
	    cmd->cmd_op != COLL_URING_TENSOR_WAIT)
		return -EOPNOTSUPP;

	/* The SQE may be user memory that changes under us: one read each. */
	sqe = coll_sqe_cmd(cmd, struct coll_sqe);
	arg = READ_ONCE(sqe->arg);
	len = READ_ONCE(sqe->len);
	flags = READ_ONCE(sqe->flags);
	if (flags)
		return -EINVAL;
	if (cmd->cmd_op != COLL_URING_SUBMIT)
		return coll_uring_tensors(cf, cmd, arg, len, issue_flags);
	return coll_uring_submit(cf, cmd, arg, len, issue_flags);
}
