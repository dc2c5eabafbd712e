// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/ktime.h>
#include <linux/processor.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

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
#include "spin.h"
#include "tensor_await.h"
#include "tensor_uring.h"
#include "uring.h"

/* Commands whose memory a file keeps. */
#define COLL_URING_KEPT	16

/* State of a command. Its submission and its end change it; the later of the two completes it. */
enum {
	COLL_URING_ISSUED,	/* the submission is under way */
	COLL_URING_POSTED,	/* the submission is over, the command has not ended */
	COLL_URING_LANDED,	/* the command has ended */
};

/**
 * struct coll_uring - an io_uring command in flight
 * @flight: the command
 * @cmd: command of io_uring
 * @where: COLL_URING_*
 * @holds_file: it has a counted reference to the file, see refs.h; false: a fixed file
 * @next: in cf->spare_urings
 *
 * Owner: core from posting on, then the thread that completes the command: its submitter, or task
 * work. Exactly one CQE is posted for it.
 */
struct coll_uring {
	struct coll_flight flight;
	struct io_uring_cmd *cmd;
	atomic_t where;
	bool holds_file;
	struct coll_uring *next;
};

static struct coll_uring **coll_pdu(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct coll_uring *) > sizeof(cmd->pdu));
	return (struct coll_uring **)cmd->pdu;
}

/* Memory for a command: that of an earlier one, or new. Zeroed. */
static struct coll_uring *coll_uring_alloc(struct coll_file *cf)
{
	struct coll_uring *u;

	spin_lock(&cf->lock);
	u = cf->spare_urings;
	if (u) {
		cf->spare_urings = u->next;
		cf->nr_spare_urings--;
	}
	spin_unlock(&cf->lock);
	if (!u)
		return kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	memset(u, 0, sizeof(*u));
	return u;
}

static void coll_uring_keep(struct coll_file *cf, struct coll_uring *u)
{
	spin_lock(&cf->lock);
	if (cf->nr_spare_urings < COLL_URING_KEPT) {
		u->next = cf->spare_urings;
		cf->spare_urings = u;
		cf->nr_spare_urings++;
		u = NULL;
	}
	spin_unlock(&cf->lock);
	kfree(u);
}

static void coll_uring_free(struct coll_uring *u)
{
	struct coll_file *cf = u->flight.cf;
	bool holds_file = u->holds_file;

	/* @u no longer marks the round of coll_uring_cancel(): its memory will be used again. */
	cmpxchg(&cf->cancelled, u, NULL);
	coll_uring_keep(cf, u);
	/* Last: the file may go with this reference. */
	if (holds_file)
		coll_end_drop(cf);
}

/* Runs in the task that submitted, or in the task that io_uring uses in its place. */
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
	struct io_uring_cmd *cmd = u->cmd;

	/* While the submission is under way, the submitter completes @u: do not access it then. */
	if (atomic_xchg(&u->where, COLL_URING_LANDED) == COLL_URING_POSTED)
		coll_cmd_finish_in_task(cmd, coll_uring_finish);
}

/*
 * COLL_CMD_SPIN: the caller will wait for the end at once. Then it is cheaper to poll for as long
 * as falling asleep takes, and no task work is needed. Not with links: they would have to wait.
 */
static void coll_uring_spin(struct coll_uring *u)
{
	const struct coll_req *req = &u->flight.req;
	const struct coll_group *g = coll_member_group(req->member);
	u64 end;

	if (!(req->cmd.flags & COLL_CMD_SPIN) || g->nr_nodes > 1 ||
	    coll_is_message(req->cmd.collective))
		return;
	end = ktime_get_ns() + (u64)coll_spin_group_us(g) * NSEC_PER_USEC;
	while (atomic_read(&u->where) == COLL_URING_ISSUED && single_task_running() &&
	       !need_resched() && !signal_pending(current) && ktime_get_ns() < end)
		cpu_relax();
}

/* The command has been posted. If it has ended by now, complete it within the submission. */
static void coll_uring_posted(struct coll_uring *u, unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = u->cmd;
	int result;

	if (atomic_xchg(&u->where, COLL_URING_POSTED) == COLL_URING_ISSUED)
		return;
	result = coll_deliver(&u->flight.req, u->flight.result);
	coll_uring_free(u);
	coll_cmd_done(cmd, result, issue_flags);
}

/*
 * The ring or the task ends: io_uring calls this for every command in flight, again and again
 * until all of them are complete. That may take long, because a command completes in the task that
 * submitted it, which may be stopped. io_uring does not sleep meanwhile, and may be a kernel
 * thread. So sleep here, once for each round: when the same command comes again.
 */
static int coll_uring_cancel(struct coll_file *cf, struct io_uring_cmd *cmd)
{
	const void *u = *coll_pdu(cmd);

	/* Cancelling a wait does not end the rank: its tensors stay posted. */
	if (cmd->cmd_op == COLL_URING_TENSOR_WAIT)
		coll_await_cancel(cmd);
	else
		coll_end_cancelled(cf);
	if (cmpxchg(&cf->cancelled, NULL, u) == u)
		schedule_timeout_uninterruptible(1);
	return 0;
}

static int coll_uring_submit(struct coll_file *cf, struct io_uring_cmd *cmd,
			     u64 arg, u32 len, unsigned int issue_flags)
{
	struct coll_uring *u = coll_uring_alloc(cf);
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
		coll_uring_keep(cf, u);
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
		/* Do not return @ret: io_uring would retry -EAGAIN later. */
		coll_cmd_done(cmd, ret, issue_flags);
		return -EIOCBQUEUED;
	}
	coll_end_posted(cf, holds_file);
	coll_uring_spin(u);
	coll_uring_posted(u, issue_flags);
	return -EIOCBQUEUED;
}

void coll_uring_release(struct coll_file *cf)
{
	struct coll_uring *u;

	while ((u = cf->spare_urings)) {
		cf->spare_urings = u->next;
		kfree(u);
	}
}

int coll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct coll_file *cf = cmd->file->private_data;
	const struct coll_sqe *sqe;
	u32 len, flags;
	u64 arg;

	if (issue_flags & IO_URING_F_CANCEL)
		return coll_uring_cancel(cf, cmd);
	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	if (cmd->cmd_op != COLL_URING_SUBMIT && cmd->cmd_op != COLL_URING_TENSOR_POST &&
	    cmd->cmd_op != COLL_URING_TENSOR_WAIT)
		return -EOPNOTSUPP;
	if (coll_uring_is_again(cmd))
		return coll_uring_again(cf, cmd, issue_flags);

	/* The SQE may be in user memory, which may change at any time: read each field once. */
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
