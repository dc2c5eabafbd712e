// SPDX-License-Identifier: GPL-2.0
/* A pass over a connection: everything there is to do now. */
#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/sched/signal.h>
#include <net/sock.h>

#include "../core/exec/exec.h"
#include "../core/group/account.h"
#include "../core/group/transport.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/op/op_run.h"
#include "../core/p2p/bytes.h"
#include "../core/p2p/messages.h"
#include "../core/worker.h"
#include "channel.h"
#include "conn.h"
#include "lost.h"
#include "pass.h"
#include "rx.h"
#include "rx_data.h"
#include "sock.h"
#include "tx_ack.h"
#include "tx_ctrl.h"
#include "tx_data.h"
#include "tx_zerocopy.h"
#include "wake.h"

/* Before a pass over data: take refs of running ops. A channel with an op or message is active. */
static void coll_ch_begin(struct coll_channel *ch)
{
	/* A racy check: a thread that starts an op kicks the links afterwards. */
	if (!coll_group_is_idle(ch->link.group))
		ch->nr_ops = coll_ops_running(ch->link.group, ch->ops);
	ch->rx_at = 0;
	ch->tx_at = 0;
	/* Look for the peer's desk early, while it surely exists: see coll_ch_may_read_loans(). */
	if (!ch->kin_sought && coll_ch_established(ch))
		coll_desk_kin(ch);
	if (!ch->nr_ops && !coll_ch_talks(ch))
		return;
	ch->busy = true;
	list_add_tail(&ch->active, &ch->conn->active);
}

/* The peer's op with this number has another signature: fail, or both nodes wait forever. */
static void coll_ch_check_post(struct coll_channel *ch, const struct coll_op *op)
{
	if (ch->peer_seq == op->seq && ch->peer_sig != op->sig)
		coll_ch_fail(ch, COLL_CAUSE_MISMATCH, EBADE, op->seq, 0);
}

/*
 * The data stream has ended: does the op need more bytes than have come? Bytes of a loan that the
 * sender has taken back do not come any more, nor can those behind it be used.
 */
static bool coll_ch_starves(const struct coll_channel *ch, const struct coll_op *op)
{
	bool have = coll_ch_on_loan(ch) ? !ch->rx_lost :
		    ch->backlog.len || (ch->rx_state == COLL_CH_MATCH && !ch->rx_left);
	struct coll_exec *x = op->exec;

	return coll_exec_sends(x, &ch->link) ||
	       (!have && coll_exec_receives(x, &ch->link));
}

/*
 * After a pass over data: let go of the running ops of an active channel. @closed: no more bytes
 * come, and those that have come have been looked at.
 */
static void coll_ch_end(struct coll_channel *ch, bool closed)
{
	bool starves = false;
	u32 i;

	if (closed && coll_ch_talks(ch))
		WRITE_ONCE(ch->lost_msg, true);
	for (i = 0; i < ch->nr_ops; i++) {
		struct coll_op *op = ch->ops[i];

		coll_ch_check_post(ch, op);
		if (!closed || starves || coll_op_ending(op) || !coll_ch_starves(ch, op))
			continue;
		WRITE_ONCE(ch->lost_seq, op->seq);
		starves = true;
	}
	for (i = 0; i < ch->nr_ops; i++)
		coll_op_put(ch->ops[i]);
	ch->nr_ops = 0;
	list_del(&ch->active);
}

/* Control: send, read, and send the frames that became due by reading. */
static bool coll_conn_ctrl(struct coll_stream *ctrl)
{
	bool more = coll_tx_ctrl(ctrl);

	more |= coll_rx(ctrl);
	more |= coll_tx_ctrl(ctrl);
	return more;
}

/* One pass over data, for all running ops and messages. */
static bool coll_conn_data(struct coll_conn *conn, struct coll_stream *data)
{
	struct coll_channel *ch, *next;
	bool more;

	list_for_each_entry(ch, &conn->channels, list)
		coll_ch_begin(ch);
	more = coll_tx_data(data);
	list_for_each_entry(ch, &conn->channels, list)
		more |= coll_ch_drain(ch);
	more |= coll_rx(data);
	/* Bytes received just now may be due to be sent. */
	more |= coll_tx_data(data);
	list_for_each_entry_safe(ch, next, &conn->active, active)
		coll_ch_end(ch, data->closed && !more);
	return more;
}

/*
 * Groups with an op or a message on the conn pay for its passes in equal parts. If there is no
 * such group, all groups of the conn pay.
 */
static void coll_conn_account_locked(struct coll_conn *conn, u64 begin)
{
	u64 ns = ktime_get_ns() - begin;
	struct coll_channel *ch;
	u32 busy = 0;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry(ch, &conn->channels, list)
		busy += ch->busy;
	list_for_each_entry(ch, &conn->channels, list)
		if (ch->busy || !busy)
			coll_account_share(ch->link.group,
					   div_u64(ns, busy ?: conn->users));
}

/*
 * May the caller that attends do the pass? A caller that is being killed cannot access windows
 * any more. Its own op fails anyway, but an op of another group, or a message of another rank,
 * would be lost. A worker does those.
 */
static bool coll_conn_is_mine(const struct coll_conn *conn)
{
	const struct coll_channel *ch;

	ch = list_first_entry(&conn->channels, struct coll_channel, list);
	return conn->users == 1 && !coll_ch_talks(ch) && !fatal_signal_pending(current);
}

/*
 * Set the priority of @worker for control, or for data; NULL: a watcher does the pass. Very many
 * channels are looked at with low priority, because that delays others for too long. @alert: see
 * coll_conn_alert().
 */
static void coll_conn_to_control(const struct coll_conn *conn, struct coll_worker *worker,
				 bool alert)
{
	if (!worker)
		return;
	if (conn->users <= COLL_CTRL_CHANNELS)
		coll_worker_control(worker, alert);
	else
		coll_worker_demote(worker);
}

static void coll_conn_to_data(struct coll_worker *worker)
{
	if (worker)
		coll_worker_demote(worker);
}

/*
 * One pass. If @w is NULL, @worker does all of it; else the watcher @w does what it may do.
 * @alert: as coll_conn_to_control(). Under conn->lock. Return: there is more to do.
 */
static bool coll_conn_pass_locked(struct coll_conn *conn, const struct coll_watcher *w,
				  struct coll_worker *worker, bool alert)
{
	struct coll_stream *ctrl = coll_conn_stream(conn, COLL_STRIPE_CTRL);
	struct coll_stream *data = coll_conn_stream(conn, COLL_STRIPE_DATA);
	struct coll_channel *ch;
	bool more = false, talks = false;

	lockdep_assert_held(&conn->lock);
	if (ctrl && alert) {
		coll_conn_to_control(conn, worker, true);
		more |= coll_tx_ctrl(ctrl);
	}
	coll_conn_to_control(conn, worker, false);
	if (ctrl)
		more |= coll_conn_ctrl(ctrl);
	coll_conn_to_data(worker);
	coll_tx_settle_doubts(conn);
	/* Control may have accepted a message: its bytes may come from here on. */
	if (w && !coll_conn_is_mine(conn))
		return true;
	list_for_each_entry(ch, &conn->channels, list)
		coll_tx_reclaim(ch);
	if (data)
		more |= coll_conn_data(conn, data);
	if (ctrl && data)
		more |= coll_tx_ctrl(ctrl);	/* ACK */
	list_for_each_entry(ch, &conn->channels, list) {
		/*
		 * Perhaps no pages are out: if memory was short, bytes were copied that should have
		 * been sent without a copy. Then no end of a send would cause another pass.
		 */
		coll_tx_reclaim(ch);
		coll_ch_check_lost(ch);
		talks |= coll_ch_talks(ch);
	}
	WRITE_ONCE(conn->talks, talks);
	ch = list_first_entry(&conn->channels, struct coll_channel, list);
	if (!more)
		coll_conn_settle(conn, ch);
	return more;
}

/*
 * Passes of @worker, or of watcher @w if it is not NULL, until nothing is left to do or time is
 * up. Those of @w also end with its op, or if only a worker may go on. Return: there is more to do.
 */
static bool coll_conn_passes_locked(struct coll_conn *conn, const struct coll_watcher *w,
				    struct coll_worker *worker)
{
	unsigned long end = jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1;
	const struct cred *cred = override_creds(conn->cred);
	struct coll_channel *ch;
	bool more;

	lockdep_assert_held(&conn->lock);
	/* Any of the passes may set it. */
	list_for_each_entry(ch, &conn->channels, list)
		ch->busy = false;
	atomic_inc(&conn->user->polled);
	do {
		bool alert = coll_conn_poll(conn);

		more = coll_conn_pass_locked(conn, w, worker, alert);
	} while ((more || READ_ONCE(conn->wanted)) && time_before(jiffies, end) &&
		 (!w || (coll_conn_is_mine(conn) && !READ_ONCE(*w->done))));
	atomic_dec(&conn->user->polled);
	revert_creds(cred);
	return more;
}

void coll_conn_work(struct work_struct *work)
{
	struct coll_conn *conn = container_of(work, struct coll_conn, work);
	struct coll_worker w;
	bool more;

	coll_worker_begin_control(&w, conn->user, &conn->wanted, BIT(COLL_CONN_URGENT),
				  BIT(COLL_CONN_ALERT));
	mutex_lock(&conn->lock);
	coll_conn_poll_begin(conn);
	more = coll_conn_passes_locked(conn, NULL, &w);
	coll_conn_account_locked(conn, w.begin);
	coll_conn_poll_end(conn, more);
	mutex_unlock(&conn->lock);
	coll_worker_end(&w);
}

void coll_conn_attend(struct coll_conn *conn, struct coll_watcher *w)
{
	WRITE_ONCE(w->at, conn);
	if (mutex_lock_killable(&conn->lock)) {
		coll_conn_queue_pass(conn);
		goto out;
	}
	if (coll_conn_is_mine(conn) && coll_conn_passes_locked(conn, w, NULL))
		coll_conn_note_more(conn);
	if (!coll_conn_is_mine(conn)) {
		/* The alert is for the work. */
		if (coll_conn_poll(conn))
			set_bit(COLL_CONN_ALERT, &conn->wanted);
		coll_conn_queue_pass(conn);
	}
	mutex_unlock(&conn->lock);
out:
	WRITE_ONCE(w->at, NULL);
}
