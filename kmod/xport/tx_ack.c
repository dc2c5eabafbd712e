// SPDX-License-Identifier: GPL-2.0
/*
 * Can the peer have received what it acknowledges?
 *
 * ACK counts DATA of one channel, and TCP counts bytes of the stream. So for some frames a
 * channel notes at which byte of the stream they begin. All bytes that it has sent since, except
 * lent ones (loan.h), are in the stream behind that place. An ACK can only be true if the stack
 * has sent as many bytes from there.
 *
 * TCP counts bytes as sent just after it has sent them. If the ACK of a peer comes before that, it
 * is checked again under the socket lock. And a device may drop the last part of a large packet and
 * report that all of it was dropped: then TCP counts the bytes when it has sent them again. So an ACK
 * is false only if it still cannot be true after COLL_TX_GRACE. Until then it does no harm: the peer
 * has only allowed more bytes.
 */
#include <linux/jiffies.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "channel.h"
#include "conn.h"
#include "tx_ack.h"
#include "wake.h"

#define COLL_TX_MARK_BYTES	(COLL_WIRE_WINDOW / (COLL_TX_MARKS / 2))

void coll_tx_mark(const struct coll_stream *st, struct coll_channel *ch)
{
	const struct coll_tx_mark *last;

	lockdep_assert_held(&ch->conn->lock);
	last = &ch->tx_marks[(ch->tx_nr_marks - 1) % COLL_TX_MARKS];
	if (ch->tx_nr_marks && ch->tx_sent - last->sent < COLL_TX_MARK_BYTES)
		return;
	ch->tx_marks[ch->tx_nr_marks++ % COLL_TX_MARKS] = (struct coll_tx_mark){
		.sent = ch->tx_sent,
		.at = st->tx_pos,
		.zc = ch->tx_zc,
	};
}

/* Bytes of the stream that must have been sent for the ACK to be true. */
static u64 coll_tx_must_have_left(const struct coll_channel *ch)
{
	u32 nr = min_t(u64, ch->tx_nr_marks, COLL_TX_MARKS), i;

	for (i = 1; i <= nr; i++) {
		const struct coll_tx_mark *m;
		u64 acked, zc;

		m = &ch->tx_marks[(ch->tx_nr_marks - i) % COLL_TX_MARKS];
		if (m->sent >= ch->tx_acked)
			continue;
		acked = ch->tx_acked - m->sent;
		zc = ch->tx_zc - m->zc;
		/* At least the header of the frame. */
		return m->at + max_t(u64, acked > zc ? acked - zc : 0, COLL_WIRE_HDR);
	}
	return 0;
}

static bool coll_tx_ack_holds(const struct coll_stream *st, const struct coll_channel *ch)
{
	const struct tcp_sock *tp = tcp_sk(st->sock->sk);
	u32 unsent;

	/* TCP has dropped its send queue: its counts mean nothing. */
	if (st->closed || READ_ONCE(st->sock->sk->sk_state) == TCP_CLOSE)
		return true;
	unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	return st->tx_pos >= coll_tx_must_have_left(ch) + unsent;
}

void coll_tx_acked(struct coll_channel *ch)
{
	const struct coll_stream *data = ch->conn->streams[COLL_STRIPE_DATA];

	lockdep_assert_held(&ch->conn->lock);
	if (!data || coll_tx_ack_holds(data, ch)) {
		ch->tx_doubt = false;
	} else if (!ch->tx_doubt) {
		ch->tx_doubt = true;
		ch->tx_doubt_since = jiffies;
	}
}

void coll_tx_settle_doubts(struct coll_conn *conn)
{
	struct coll_stream *data = coll_conn_stream(conn, COLL_STRIPE_DATA);
	struct coll_channel *ch;
	bool holds;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry(ch, &conn->channels, list) {
		if (!ch->tx_doubt)
			continue;
		lock_sock(data->sock->sk);
		holds = coll_tx_ack_holds(data, ch);
		release_sock(data->sock->sk);
		if (!holds && time_before(jiffies, ch->tx_doubt_since + COLL_TX_GRACE)) {
			coll_conn_retry(conn);
			continue;
		}
		ch->tx_doubt = false;
		if (!holds)
			coll_ch_proto(ch, 0);
	}
}
