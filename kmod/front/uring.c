// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/io_uring_types.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../compat.h"
#include "../core/account.h"
#include "../core/group.h"
#include "../core/member.h"
#include "../core/op.h"
#include "decode.h"
#include "file.h"
#include "fixed.h"
#include "progress.h"

/*
 * An io_uring command in flight. Owner: core from posting on, then the task work
 * that completes the command. Exactly one CQE comes of it.
 */
struct coll_uring {
	struct coll_req req;
	struct io_uring_cmd *cmd;
	struct coll_file *cf;
	struct coll_progress *progress;
	bool holds_file;	/* not a fixed file: counts in cf->refs */
	int result;
};

static struct coll_uring **coll_pdu(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct coll_uring *) > sizeof(cmd->pdu));
	return (struct coll_uring **)cmd->pdu;
}

static void coll_uring_free(struct coll_uring *u)
{
	if (u->holds_file)
		atomic_dec(&u->cf->refs);
	atomic_dec(&u->cf->uring);
	kfree(u);
}

/* In the task that submitted, or in whatever io_uring has in its place. */
static void coll_uring_finish(COLL_TW_ARGS)
{
	struct io_uring_cmd *cmd = coll_tw_cmd();
	struct coll_uring *u = *coll_pdu(cmd);
	int result = coll_deliver(&u->req, u->result);

	coll_uring_free(u);
	coll_cmd_done(cmd, result, coll_tw_flags());
}

static void coll_uring_done(struct coll_req *req, int result)
{
	struct coll_uring *u = container_of(req, struct coll_uring, req);

	u->result = result;
	coll_progress_end(u->progress);
	coll_cmd_finish_in_task(u->cmd, coll_uring_finish);
}

#if COLL_URING_CAN_CANCEL
void coll_uring_open(struct coll_file *cf)
{
}

void coll_uring_release(struct coll_file *cf)
{
}

static void coll_uring_watch(struct coll_file *cf)
{
}
#else
/*
 * 6.1 lets execve() wait for our commands without telling us, and it cannot be
 * killed meanwhile. So while commands are in flight, look now and then.
 */
#define COLL_WATCH_INTERVAL	(HZ / 20)

static bool coll_owner_leaving(struct coll_file *cf)
{
	struct task_struct *t;
	bool leaving = false;

	rcu_read_lock();
	for_each_thread(cf->owner, t)
		leaving |= coll_task_leaving(t);
	rcu_read_unlock();
	return leaving;
}

static void coll_watch_work(struct work_struct *work)
{
	struct coll_file *cf = container_of(to_delayed_work(work),
					    struct coll_file, watch);

	if (!atomic_read(&cf->uring))
		return;
	if (coll_owner_leaving(cf))
		coll_member_gone(cf->member, COLL_CAUSE_EXIT);
	else
		queue_delayed_work(coll_wq, &cf->watch, COLL_WATCH_INTERVAL);
}

void coll_uring_open(struct coll_file *cf)
{
	INIT_DELAYED_WORK(&cf->watch, coll_watch_work);
	cf->owner = get_task_struct(current->group_leader);
}

void coll_uring_release(struct coll_file *cf)
{
	cancel_delayed_work_sync(&cf->watch);
	put_task_struct(cf->owner);
}

static void coll_uring_watch(struct coll_file *cf)
{
	queue_delayed_work(coll_wq, &cf->watch, COLL_WATCH_INTERVAL);
}
#endif

/* The ring or the task goes, and asks for every command in flight. */
static int coll_uring_cancel(struct coll_file *cf)
{
	coll_member_gone(cf->member, current->flags & PF_EXITING ?
			 COLL_CAUSE_EXIT : COLL_CAUSE_CANCEL);
	return 0;
}

static int coll_uring_submit(struct coll_file *cf, struct io_uring_cmd *cmd,
			     u64 arg, u32 len, unsigned int issue_flags)
{
	struct coll_uring *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	struct coll_fixed fixed = { .cmd = cmd, .issue_flags = issue_flags };
	u64 begin = coll_account_begin();
	int ret;

	if (!u)
		return coll_refused(cf->member, -ENOMEM);
	ret = coll_decode(cf->member, arg, len,
			  cmd->flags & IORING_URING_CMD_FIXED ? &fixed : NULL, &u->req);
	if (ret) {
		kfree(u);
		return ret;
	}
	u->req.done = coll_uring_done;
	u->cmd = cmd;
	u->cf = cf;
	u->holds_file = !(cmd_to_io_kiocb(cmd)->flags & REQ_F_FIXED_FILE);
	*coll_pdu(cmd) = u;
	atomic_inc(&cf->uring);
	if (u->holds_file)
		atomic_inc(&cf->refs);

	u->progress = coll_progress_begin(cf, &u->req);
	/* Before posting: afterwards the command may be complete and gone. */
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	ret = coll_op_post(&u->req);
	/* The file is io_uring's as long as we issue, whatever became of the command. */
	coll_account_call(cf->member, begin);
	if (ret) {
		coll_progress_end(u->progress);
		coll_decode_undo(&u->req);
		coll_uring_free(u);
		/* Not by return value: io_uring would try -EAGAIN again, later. */
		coll_cmd_done(cmd, coll_refused(cf->member, ret), issue_flags);
		return -EIOCBQUEUED;
	}
	coll_uring_watch(cf);
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
	if (cmd->cmd_op != COLL_URING_SUBMIT)
		return -EOPNOTSUPP;

	/* The SQE may be user memory that changes under us: one read each. */
	sqe = coll_sqe_cmd(cmd, struct coll_sqe);
	arg = READ_ONCE(sqe->arg);
	len = READ_ONCE(sqe->len);
	flags = READ_ONCE(sqe->flags);
	if (flags)
		return -EINVAL;
	return coll_uring_submit(cf, cmd, arg, len, issue_flags);
}
