// SPDX-License-Identifier: GPL-2.0
/*
 * Sending without a copy. The socket refers to the pages of the op, until
 *   - splice: over loopback and veth the receive queue of the peer refers to them, too:
 *     they may be read until the peer has acknowledged the frame. Bytes the peer has
 *     consumed are not looked at again, even if TCP resends them.
 *   - ubuf: the stack says so (tx_ubuf.c). Where it would hand them to a socket of this
 *     machine it makes a copy.
 * Until then the channel has a use of the op, so that it cannot end.
 *
 * Within the op nothing waits: schedules are proved for sends that have read only when
 * their receive is complete (kmod/pure/check_data.c).
 *
 * When an op has failed its spliced pages are free as soon as the peer has said that it
 * reads nothing any more (ABORT, BYE of all). If it does not say so in a moment, or a ubuf
 * does not come back, the stream is broken off, and with that the queue of what is to be
 * sent has gone.
 */
#include <linux/bvec.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/string.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../core/exec.h"
#include "../core/limits.h"
#include "../core/op.h"
#include "channel.h"
#include "conn.h"
#include "tx.h"

/* A choice is made, not a mode: behind those of enum coll_nl_send_mode. */
#define COLL_SEND_AUTO	COLL_SEND_MODES

static const char * const coll_send_modes[] = {
	[COLL_NL_SEND_MODE_COPY]	= "copy",
	[COLL_NL_SEND_MODE_SPLICE]	= "splice",
	[COLL_NL_SEND_MODE_UBUF]	= "ubuf",
	[COLL_SEND_AUTO]		= "auto",
};

static int send_mode = COLL_SEND_AUTO;

static int coll_send_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(coll_send_modes, val);

	if (mode < 0)
		return mode;
	WRITE_ONCE(send_mode, mode);
	return 0;
}

static int coll_send_mode_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", coll_send_modes[READ_ONCE(send_mode)]);
}

static const struct kernel_param_ops coll_send_mode_ops = {
	.set	= coll_send_mode_set,
	.get	= coll_send_mode_get,
};
module_param_cb(send_mode, &coll_send_mode_ops, NULL, 0644);
MODULE_PARM_DESC(send_mode, "how large frames are sent: copy, splice or ubuf (the socket refers to the pages), or auto");

enum coll_nl_send_mode coll_tx_mode_now(const struct coll_conn *conn)
{
	int mode = READ_ONCE(send_mode);

	return mode == COLL_SEND_AUTO ? READ_ONCE(conn->choice.mode) : mode;
}

enum coll_nl_send_mode coll_tx_mode(struct coll_channel *ch,
				    const struct coll_exec_step *step, u32 bytes)
{
	int mode = READ_ONCE(send_mode);
	u64 least = mode == COLL_SEND_AUTO ? COLL_LEND_OP : COLL_LEND_MIN;

	if (bytes < COLL_LEND_MIN || ch->tx_op->bytes < least ||
	    !coll_exec_may_lend(ch->tx_op->exec, step))
		return COLL_NL_SEND_MODE_COPY;
	/* Pages of one op are out at a time: rather than wait for them the next one is copied. */
	if (ch->lent && ch->lent != ch->tx_op) {
		coll_choice_skip(ch);
		return COLL_NL_SEND_MODE_COPY;
	}
	return mode == COLL_SEND_AUTO ? coll_choice_mode(ch) : mode;
}

void coll_tx_lend(struct coll_channel *ch)
{
	/* There is a use already, that of the pass: this one cannot fail. */
	if (!ch->lent && coll_op_use(ch->tx_op)) {
		ch->lent = ch->tx_op;
		atomic_inc(&ch->tx_op->lenders);
	}
}

int coll_tx_pages(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		  u32 bytes, bool more)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);

	if (st->tx_mode == COLL_NL_SEND_MODE_UBUF)
		return coll_tx_ubuf(st, bv, nr, bytes, more);
	return coll_tx_result(st, coll_send_bvec(st->sock, bv, nr, bytes, true, flags),
			      COLL_NL_SEND_MODE_SPLICE);
}

/* Is anything still with the peer, or with the stack? */
static bool coll_tx_lends(const struct coll_channel *ch)
{
	return coll_tx_spliced(ch) || READ_ONCE(ch->ubufs);
}

/* The peer has reset the stream: it reads no more of it, see coll_rx_broken_off(). */
static bool coll_stream_was_reset(const struct coll_stream *st)
{
	return st->closed && st->error == ECONNRESET;
}

/* RST, and nothing is sent or resent from pages that it refers to. */
void coll_tx_break_off(struct coll_stream *st)
{
	struct sock *sk = st->sock->sk;

	if (READ_ONCE(sk->sk_state) != TCP_CLOSE)
		tcp_abort(sk, ECONNABORTED);
}

/*
 * No ACK may come any more. Return: true if the pages are free for another reason. Those
 * of a ubuf are when it has come back, which resetting the stream sees to.
 */
static bool coll_tx_recall(struct coll_channel *ch)
{
	struct coll_conn *conn = ch->conn;
	const struct coll_stream *ctrl = conn->streams[COLL_STRIPE_CTRL];
	struct coll_stream *data = conn->streams[COLL_STRIPE_DATA];

	if (ch->deaf)
		ch->lent_until = 0;
	if (!coll_tx_lends(ch))
		return true;
	if (!coll_ch_failed(ch) && !data->closed && !ctrl->closed)
		return false;
	if (!ch->lent_called) {
		ch->lent_called = true;
		ch->lent_since = jiffies;
	}
	if (!coll_stream_was_reset(data) &&
	    time_before(jiffies, ch->lent_since + COLL_TX_GRACE)) {
		coll_conn_retry(conn);
		return false;
	}
	coll_tx_break_off(data);
	ch->lent_until = 0;
	return !coll_tx_lends(ch);
}

void coll_tx_reclaim(struct coll_channel *ch)
{
	struct coll_op *op = ch->lent;

	if (!op || (coll_tx_lends(ch) && !coll_tx_recall(ch)))
		return;
	ch->lent = NULL;
	ch->lent_called = false;
	atomic_dec(&op->lenders);
	coll_op_put_use(op);
}
