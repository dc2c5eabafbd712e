// SPDX-License-Identifier: GPL-2.0
/*
 * Zerocopy: sending without a copy. The op gives its pages
 *   - splice: to the channel at the other end, if it is in this kernel. That channel reads them
 *     where they are (loan.c). The loan can be taken back at any moment.
 *   - ubuf: to the socket. The stack tells when it has released them (tx_ubuf.c). Before it
 *     hands them to a socket of this machine it makes a copy.
 * Until the pages are back the channel has a ref of the op, so the op cannot end. No frame of
 * the peer (ACK, ABORT, BYE) ends a loan.
 *
 * No step of the op waits for the pages: schedules are proved for sends that read their bytes
 * as late as their receive completes (kmod/pure/check/races.c).
 *
 * When an op has failed, or a stream has closed, loans are taken back at once. If a ubuf does
 * not come back within COLL_TX_GRACE, the stream is reset, and TCP frees its send queue.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "../core/exec/exec.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../pure/names.h"
#include "channel.h"
#include "conn.h"
#include "sock.h"
#include "tx_choice.h"
#include "tx_ubuf.h"
#include "tx_zerocopy.h"
#include "wake.h"

/* The mode is chosen by trials. The number is behind those of enum coll_nl_send_mode. */
#define COLL_SEND_AUTO	COLL_SEND_MODES

static int send_mode = COLL_SEND_AUTO;

static int coll_send_mode_set(const char *val, const struct kernel_param *kp)
{
	int mode;

	for (mode = 0; mode < COLL_SEND_MODES; mode++)
		if (sysfs_streq(val, coll_send_mode_name(mode)))
			break;
	if (mode == COLL_SEND_MODES && !sysfs_streq(val, "auto"))
		return -EINVAL;
	WRITE_ONCE(send_mode, mode);
	return 0;
}

static int coll_send_mode_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", coll_send_mode_name(READ_ONCE(send_mode)) ?: "auto");
}

static const struct kernel_param_ops coll_send_mode_ops = {
	.set	= coll_send_mode_set,
	.get	= coll_send_mode_get,
};
module_param_cb(send_mode, &coll_send_mode_ops, NULL, 0644);
MODULE_PARM_DESC(send_mode, "how large frames are sent: copy, splice (read from our pages by the other end, if it is in this kernel), ubuf (the socket refers to the pages), or auto");

enum coll_nl_send_mode coll_tx_mode_now(const struct coll_conn *conn)
{
	int mode = READ_ONCE(send_mode);

	return mode == COLL_SEND_AUTO ? READ_ONCE(conn->choice.mode) : mode;
}

/*
 * A probe of the path's MTU refers to the pages of other socket buffers, but not to their ubuf
 * (since Linux 6.5): the ubuf may come back before the probe is acknowledged.
 */
static bool coll_tx_probes_mtu(const struct coll_conn *conn)
{
	const struct sock *sk = conn->streams[COLL_STRIPE_DATA]->sock->sk;

	/* ->enabled is a bit field, which the stack sets once, before or when the sysctl is on. */
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_mtu_probing) ||
	       inet_csk(sk)->icsk_mtup.enabled;
}

enum coll_nl_send_mode coll_tx_mode(struct coll_channel *ch,
				    const struct coll_exec_step *step, u32 bytes)
{
	const struct coll_stream *data = ch->conn->streams[COLL_STRIPE_DATA];
	int asked = READ_ONCE(send_mode), mode = asked;
	u64 least = mode == COLL_SEND_AUTO ? COLL_ZEROCOPY_OP : COLL_ZEROCOPY_MIN;

	if (bytes < COLL_ZEROCOPY_MIN || ch->tx_op->bytes < least ||
	    !coll_exec_may_zerocopy(ch->tx_op->exec, step))
		return COLL_NL_SEND_MODE_COPY;
	/* Only one op at a time has pages out: the next op does not wait for them, but copies. */
	if (ch->zc_op && ch->zc_op != ch->tx_op) {
		coll_choice_skip(ch);
		return COLL_NL_SEND_MODE_COPY;
	}
	ch->conn->choice.kin = coll_desk_kin(ch);
	ch->conn->choice.direct = coll_sock_is_direct(data->sock->sk);
	if (mode == COLL_SEND_AUTO)
		mode = coll_choice_mode(ch);
	/* Pages can be lent inside this kernel only. */
	if (mode == COLL_NL_SEND_MODE_SPLICE && !ch->conn->choice.kin)
		mode = COLL_NL_SEND_MODE_UBUF;
	/* An administrator who sets ubuf knows the devices. */
	if (mode == COLL_NL_SEND_MODE_UBUF &&
	    ((asked != COLL_NL_SEND_MODE_UBUF && !ch->conn->choice.direct) ||
	     coll_tx_probes_mtu(ch->conn)))
		return COLL_NL_SEND_MODE_COPY;
	return mode;
}

void coll_tx_zerocopy(struct coll_channel *ch)
{
	/* The pass has a ref already, so this one cannot fail. */
	if (!ch->zc_op && coll_op_tryget(ch->tx_op)) {
		ch->zc_op = ch->tx_op;
		atomic_inc(&ch->tx_op->zc_links);
	}
}

void coll_tx_free(struct coll_channel *ch, struct coll_op *op)
{
	struct coll_exec *x = op->exec;
	u64 sent;

	lockdep_assert_held(&ch->conn->lock);
	if (!coll_exec_tallies(x))
		return;
	sent = coll_exec_sent_bytes(x, &ch->link);
	if (ch->zc_op == op)
		sent = min3(sent, coll_loan_first(ch), coll_ubuf_first(ch));
	coll_exec_freed(x, &ch->link, sent);
}

/* Does the other end, or the stack, still have pages? */
static bool coll_tx_zerocopy_busy(const struct coll_channel *ch)
{
	return coll_loan_any(ch) || READ_ONCE(ch->ubufs);
}

/* Send RST. After that TCP sends and resends nothing from the pages. */
void coll_tx_break_off(struct coll_stream *st)
{
	struct sock *sk = st->sock->sk;

	if (READ_ONCE(sk->sk_state) != TCP_CLOSE)
		tcp_abort(sk, ECONNABORTED);
}

/*
 * Take back pages that the peer does not need any more. Return: true if they are free. Pages of a
 * ubuf are free when it has come back; a reset of the stream brings it back.
 */
static bool coll_tx_recall(struct coll_channel *ch)
{
	struct coll_conn *conn = ch->conn;
	const struct coll_stream *ctrl = conn->streams[COLL_STRIPE_CTRL];
	struct coll_stream *data = conn->streams[COLL_STRIPE_DATA];

	if (!coll_ch_failed(ch) && !ch->peer_rx_closed && !data->closed && !ctrl->closed)
		return false;
	coll_loan_recall(ch);
	if (!READ_ONCE(ch->ubufs))
		return true;
	if (!coll_ch_failed(ch) && !data->closed && !ctrl->closed)
		return false;
	if (!ch->zc_recalled) {
		ch->zc_recalled = true;
		ch->zc_since = jiffies;
	}
	if (time_before(jiffies, ch->zc_since + COLL_TX_GRACE)) {
		coll_conn_retry(conn);
		return false;
	}
	coll_tx_break_off(data);
	return !READ_ONCE(ch->ubufs);
}

void coll_tx_reclaim(struct coll_channel *ch)
{
	struct coll_op *op = ch->zc_op;

	lockdep_assert_held(&ch->conn->lock);
	if (!op)
		return;
	coll_tx_free(ch, op);
	if (coll_tx_zerocopy_busy(ch) && !coll_tx_recall(ch))
		return;
	ch->zc_op = NULL;
	ch->zc_recalled = false;
	coll_tx_free(ch, op);
	atomic_dec(&op->zc_links);
	coll_op_put(op);
}
