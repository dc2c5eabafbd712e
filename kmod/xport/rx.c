// SPDX-License-Identifier: GPL-2.0
/* Cuts a stream into frames. */
#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../core/group/account.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/p2p/messages.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "rx_ctrl.h"
#include "rx_data.h"
#include "rx_msg.h"
#include "sock.h"
#include "wake.h"

/* The peer has broken the protocol: fail all channels of the conn. Under conn->lock. */
static void coll_conn_fail_locked(struct coll_conn *conn, u64 seq)
{
	struct coll_channel *ch;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry(ch, &conn->channels, list)
		coll_ch_proto(ch, seq);
}

/*
 * Does a channel want bytes behind the frame at the head of the data stream? That frame is for
 * @ch, which cannot take it now. A channel wants bytes if a running op of it can take some that
 * have not come yet, or if it expects a message. If no channel does, the frame stays in the
 * socket, which is flow control without a copy. Under conn->lock.
 */
static bool coll_conn_wanted_locked(struct coll_conn *conn, const struct coll_channel *ch)
{
	struct coll_channel *other;

	lockdep_assert_held(&conn->lock);
	/* Bytes of a message may also stand behind DATA of its own group. */
	list_for_each_entry(other, &conn->channels, list)
		if (coll_ch_expects_msg(other) ||
		    (other != ch && coll_ch_wants(other)))
			return true;
	return false;
}

/*
 * How long one call may take. Between two calls a pass sees whether the peer has reset the
 * stream, which a peer does after COLL_TX_GRACE.
 */
#define COLL_RX_TIME	(COLL_TX_GRACE / 8)

/**
 * struct coll_rx - one call of tcp_read_sock()
 * @st: stream
 * @budget: bytes that may still be read
 * @end: when to stop, in jiffies
 * @stop: leave the rest in the socket
 * @again: another pass follows at once: an op is about to end, or there is more
 */
struct coll_rx {
	struct coll_stream *st;
	u32 budget;
	unsigned long end;
	bool stop;
	bool again;
};

/* The peer has broken the protocol: where the next frame begins is unknown. */
static void coll_rx_garbage(struct coll_rx *rx)
{
	struct coll_stream *st = rx->st;

	WRITE_ONCE(st->bad, true);
	rx->stop = true;
	coll_conn_fail_locked(st->conn, st->rx_frame.seq);
	WRITE_ONCE(st->stat.state, COLL_NL_LINK_STATE_DOWN);
}

static void coll_rx_next_frame(struct coll_stream *st)
{
	st->rx_have = 0;
	st->rx_ch = NULL;
	st->rx_state = COLL_RX_HEADER;
	WRITE_ONCE(st->stat.rx_frames, st->stat.rx_frames + 1);
}

static struct coll_channel *coll_rx_channel(const struct coll_stream *st)
{
	const struct coll_frame *f = &st->rx_frame;
	struct coll_channel *ch;

	hash_for_each_possible(st->conn->by_comm, ch, by_comm, f->comm)
		if (ch->comm == f->comm && ch->facts.epoch == f->epoch)
			return ch;
	return NULL;
}

/* The first frames of a stream are HELLO and PROOF of the group that made the conn. */
static bool coll_rx_greets(const struct coll_stream *st)
{
	const struct coll_conn *conn = st->conn;
	const struct coll_frame *f = &st->rx_frame;

	return f->type == (st->greet.state == COLL_GREET_NONE ? COLL_FRAME_HELLO :
			   COLL_FRAME_PROOF) &&
	       f->comm == conn->comm && f->epoch == conn->epoch;
}

/*
 * May a frame of this type come now? A peer that has proved that it knows the key may send HELLO
 * of a communicator without a channel here. Other frames of such a communicator may come only on
 * a conn that has been shared.
 */
static bool coll_rx_legal(const struct coll_stream *st)
{
	const struct coll_frame *f = &st->rx_frame;

	if (!st->established)
		return coll_rx_greets(st);
	if ((f->type == COLL_FRAME_DATA || f->type == COLL_FRAME_MSG) !=
	    (st->stripe == COLL_STRIPE_DATA))
		return false;
	return st->rx_ch || f->type == COLL_FRAME_HELLO || st->conn->shared;
}

/*
 * Count the bytes of DATA. Return: false if they exceed the window. The group fails then; a group
 * that is about to be freed cannot fail, so the caller has to drop the bytes.
 */
static bool coll_rx_count(struct coll_stream *st)
{
	struct coll_channel *ch = st->rx_ch;

	ch->rx_seen += COLL_WIRE_HDR + st->rx_frame.length;
	if (ch->rx_seen - ch->rx_told <= COLL_WIRE_WINDOW)
		return true;
	coll_ch_proto(ch, st->rx_frame.seq);
	return false;
}

/*
 * Refuse a loan from a peer that is not in this kernel. A peer in this kernel whose group has
 * failed is not found either, but has done nothing wrong. So fail only the group of this frame, not
 * all groups of the conn. If the last PROOF comes later, on the other stream,
 * coll_ch_read_loan() checks.
 */
static bool coll_rx_refuses_loan(struct coll_stream *st)
{
	const struct coll_frame *f = &st->rx_frame;
	struct coll_channel *ch = st->rx_ch;

	if (!(f->flags & COLL_FRAME_LOAN) || !ch || !coll_ch_established(ch) ||
	    coll_ch_may_read_loans(ch))
		return false;
	if (!coll_ch_failed(ch))
		coll_ch_proto(ch, f->seq);
	return true;
}

static void coll_rx_header(struct coll_rx *rx)
{
	struct coll_stream *st = rx->st;
	struct coll_frame *f = &st->rx_frame;

	if (coll_wire_get_header(st->rx_buf, f)) {
		coll_rx_garbage(rx);
		return;
	}
	st->rx_ch = coll_rx_channel(st);
	if (!coll_rx_legal(st)) {
		coll_rx_garbage(rx);
		return;
	}
	st->rx_left = coll_wire_follows(f);
	st->rx_fresh = false;
	if (st->stripe == COLL_STRIPE_CTRL || !st->established) {
		st->rx_state = COLL_RX_CTRL;
	} else if (f->type == COLL_FRAME_MSG && st->rx_ch) {
		st->rx_state = coll_ch_expects(st->rx_ch, f) ? COLL_RX_MSG : COLL_RX_DROP;
	} else if (coll_rx_refuses_loan(st)) {
		st->rx_state = COLL_RX_DROP;
	} else if (st->rx_ch && coll_rx_count(st)) {
		st->rx_fresh = true;
		st->rx_state = COLL_RX_DATA;
	} else {
		st->rx_state = COLL_RX_DROP;
	}
}

/* A control frame is whole. */
static void coll_rx_ctrl_whole(struct coll_rx *rx)
{
	if (coll_rx_ctrl(rx->st))
		coll_rx_garbage(rx);
	coll_rx_next_frame(rx->st);
}

/*
 * A channel that is between frames takes the next header at once. A token is complete then, and
 * does not block other channels. Neither does a loan.
 */
static void coll_rx_offer(struct coll_rx *rx)
{
	struct coll_stream *st = rx->st;
	struct coll_channel *ch = st->rx_ch;

	if (!st->rx_fresh || coll_ch_pending(ch))
		return;
	coll_ch_take_header(ch, &st->rx_frame);
	st->rx_fresh = false;
	if (st->rx_left)
		return;
	if (coll_ch_on_loan(ch))
		rx->budget -= coll_ch_read_loan(ch, rx->budget);
	else
		coll_ch_room(ch);
	coll_rx_next_frame(st);
}

/* DATA that no channel takes: its group has gone, or has failed. */
static bool coll_rx_orphan(struct coll_stream *st)
{
	if (st->rx_ch && !coll_ch_failed(st->rx_ch))
		return false;
	st->rx_state = COLL_RX_DROP;
	if (!st->rx_left)
		coll_rx_next_frame(st);
	return true;
}

static void coll_rx_advance(struct coll_rx *rx, u32 n)
{
	rx->st->rx_left -= n;
	rx->budget -= n;
	if (!rx->st->rx_left)
		coll_rx_next_frame(rx->st);
}

/* Payload for the op, straight from the socket buffer. Return: bytes taken. */
static u32 coll_rx_payload(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	int n;

	len = min_t(u64, len, coll_ch_room(st->rx_ch));
	if (!len)
		return 0;
	n = coll_ch_take_skb(st->rx_ch, skb, off, len);
	if (n < 0) {
		coll_rx_garbage(rx);
		return 0;
	}
	if (n < len)
		rx->stop = true;
	coll_rx_advance(rx, n);
	return n;
}

/* Put bytes into the backlog of their channel: other channels want the bytes behind. */
static u32 coll_rx_backlog(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	struct coll_channel *ch = st->rx_ch;
	u32 room, least = st->rx_fresh ? COLL_WIRE_HDR : 1;
	void *to;

	to = coll_backlog_room(&ch->backlog, least, &room);
	if (!to) {
		coll_conn_retry(st->conn);
		rx->stop = true;
		return 0;
	}
	if (st->rx_fresh) {
		memcpy(to, st->rx_buf, COLL_WIRE_HDR);
		coll_backlog_added(&ch->backlog, COLL_WIRE_HDR);
		st->rx_fresh = false;
		if (!st->rx_left)
			coll_rx_next_frame(st);
		return 0;
	}
	len = min(len, room);
	if (skb_copy_bits(skb, off, to, len)) {
		coll_rx_garbage(rx);
		return 0;
	}
	coll_backlog_added(&ch->backlog, len);
	WRITE_ONCE(ch->spilled, ch->spilled + len);
	coll_rx_advance(rx, len);
	return len;
}

/*
 * The frame at the head is DATA. Its channel takes it if a running op wants it. Else the frame
 * stays in the socket, or goes to the backlog if it blocks a channel. Return: bytes taken.
 */
static u32 coll_rx_data(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	struct coll_channel *ch = st->rx_ch;
	u32 n;

	if (coll_rx_orphan(st))
		return 0;
	coll_rx_offer(rx);
	if (st->rx_state != COLL_RX_DATA)
		return 0;
	len = min3(len, st->rx_left, rx->budget);
	if (!st->rx_fresh && !ch->backlog.len) {
		n = coll_rx_payload(rx, skb, off, len);
		if (n || rx->stop || coll_rx_orphan(st))
			return n;
	}
	if (!coll_conn_wanted_locked(st->conn, ch)) {
		rx->stop = true;
		return 0;
	}
	if (coll_ch_is_ending(ch)) {
		/* The next op of the channel may want it in a moment. */
		rx->again = true;
		rx->stop = true;
		return 0;
	}
	return coll_rx_backlog(rx, skb, off, len);
}

/* Bytes of a message never wait: a receive is there, or the group has failed. */
static u32 coll_rx_msg(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	int n;

	if (coll_rx_orphan(st))
		return 0;
	len = min3(len, st->rx_left, rx->budget);
	n = coll_ch_take_msg(st->rx_ch, &st->rx_frame, skb, off, len);
	if (n == -EPROTO) {
		coll_rx_garbage(rx);
		return 0;
	}
	if (n < 0) {
		st->rx_state = COLL_RX_DROP;
		return 0;
	}
	coll_rx_advance(rx, n);
	return n;
}

static u32 coll_rx_drop(struct coll_rx *rx, u32 len)
{
	len = min3(len, rx->st->rx_left, rx->budget);
	coll_rx_advance(rx, len);
	return len;
}

/* Collect up to @want bytes in rx_buf. Return: bytes taken. */
static u32 coll_rx_collect(struct coll_stream *st, struct sk_buff *skb, u32 off,
			   u32 len, u32 want)
{
	u32 n = min(len, want - st->rx_have);

	if (skb_copy_bits(skb, off, st->rx_buf + st->rx_have, n))
		return 0;
	st->rx_have += n;
	return n;
}

/* Bytes of a header. A token, POST, ACK or CTS is complete with it: no more bytes need come. */
static u32 coll_rx_head(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	u32 n = coll_rx_collect(st, skb, off, len, COLL_WIRE_HDR);

	if (st->rx_have < COLL_WIRE_HDR)
		return n;
	coll_rx_header(rx);
	if (rx->stop)
		return n;
	if (st->rx_state == COLL_RX_CTRL && !st->rx_left)
		coll_rx_ctrl_whole(rx);
	else if (st->rx_state == COLL_RX_DATA && !coll_rx_orphan(st))
		coll_rx_offer(rx);
	else if (st->rx_state == COLL_RX_DROP && !st->rx_left)
		coll_rx_next_frame(st);
	return n;
}

/* One step of the state machine. Return: bytes taken. */
static u32 coll_rx_step(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	u32 n, want;

	switch (st->rx_state) {
	case COLL_RX_HEADER:
		return coll_rx_head(rx, skb, off, len);
	case COLL_RX_CTRL:
		want = COLL_WIRE_HDR + st->rx_frame.length;
		n = coll_rx_collect(st, skb, off, len, want);
		if (st->rx_have == want)
			coll_rx_ctrl_whole(rx);
		return n;
	case COLL_RX_DATA:
		return coll_rx_data(rx, skb, off, len);
	case COLL_RX_MSG:
		return coll_rx_msg(rx, skb, off, len);
	default:
		return coll_rx_drop(rx, len);
	}
}

static int coll_rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
			 unsigned int off, size_t len)
{
	struct coll_rx *rx = desc->arg.data;
	struct coll_stream *st = rx->st;
	u32 taken = 0;

	while (taken < len && !rx->stop) {
		enum coll_rx_state state = st->rx_state;
		bool fresh = st->rx_fresh;
		u32 n = coll_rx_step(rx, skb, off + taken, len - taken);

		/* No progress: the bytes cannot be read, for example those of device memory. */
		if (!n && !rx->stop && st->rx_state == state && st->rx_fresh == fresh)
			coll_rx_garbage(rx);
		taken += n;
		if (time_after(jiffies, rx->end)) {
			rx->again = true;
			rx->stop = true;
		}
		/* The caller that attends is being killed: the worker goes on. */
		if (!rx->budget || fatal_signal_pending(current))
			rx->stop = true;
	}
	if (rx->stop)
		desc->count = 0;
	WRITE_ONCE(st->stat.rx_bytes, st->stat.rx_bytes + taken);
	return taken;
}

/*
 * Has the data stream been reset? Then it is not read: the rest of its bytes will not come.
 * sk_err alone does not tell, because a send or getsockopt() clears it.
 */
static bool coll_rx_broken_off(const struct coll_stream *st)
{
	const struct sock *sk = st->sock->sk;

	return st->stripe == COLL_STRIPE_DATA &&
	       (READ_ONCE(sk->sk_err) || st->error || READ_ONCE(sk->sk_state) == TCP_CLOSE);
}

/* Has the peer, or the network, ended the stream? Under the socket lock. */
static bool coll_rx_ended(const struct coll_stream *st)
{
	const struct sock *sk = st->sock->sk;

	if (READ_ONCE(sk->sk_err) || coll_rx_broken_off(st))
		return true;
	return sk->sk_shutdown & RCV_SHUTDOWN &&
	       skb_queue_empty(&sk->sk_receive_queue);
}

/* Has no byte come, and is no frame half read? The callback tells when more bytes come. */
static bool coll_rx_idle(const struct coll_stream *st)
{
	const struct sock *sk = st->sock->sk;

	return st->rx_state == COLL_RX_HEADER &&
	       skb_queue_empty_lockless(&sk->sk_receive_queue) &&
	       !READ_ONCE(sk->sk_err) && !(READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN);
}

/*
 * Set how many bytes must come before TCP calls data_ready. Within a frame these may be many:
 * the rest of the frame comes in any case. If they do not fit into the socket, TCP calls earlier.
 * Under the socket lock, so the value holds for all bytes that come later.
 */
static void coll_rx_lowat(const struct coll_stream *st, bool stopped)
{
	struct sock *sk = st->sock->sk;
	u32 least = 1;

	/* Not if reading has stopped: then the bytes that have come stay in the socket. */
	if (st->rx_state == COLL_RX_DATA && !stopped)
		least = min3(st->rx_left, (u32)COLL_RX_LOWAT, (u32)READ_ONCE(sk->sk_rcvbuf) / 4);
	WRITE_ONCE(sk->sk_rcvlowat, max(least, 1U));
}

/*
 * The handshake of the stream has failed. The peer gets no ABORT, because it has not proved that
 * it knows the key. But it may have done nothing wrong: the shutdown ends its wait.
 */
static void coll_rx_hang_up(struct coll_stream *st)
{
	if (st->bad && !st->established && !(READ_ONCE(st->sock->sk->sk_shutdown) & SEND_SHUTDOWN))
		kernel_sock_shutdown(st->sock, SHUT_WR);
}

/* Control is read at normal priority, so its time limit is that of a work item. */
static unsigned long coll_rx_time(const struct coll_stream *st)
{
	return st->stripe == COLL_STRIPE_CTRL ? msecs_to_jiffies(COLL_WORK_MS) : COLL_RX_TIME;
}

bool coll_rx(struct coll_stream *st)
{
	struct coll_rx rx = {
		.st = st,
		.budget = COLL_WORK_BUDGET,
		.end = jiffies + coll_rx_time(st),
	};
	read_descriptor_t desc = { .arg.data = &rx, .count = 1 };
	struct sock *sk = st->sock->sk;

	lockdep_assert_held(&st->conn->lock);
	if (coll_rx_idle(st))
		return false;
	lock_sock(sk);
	/* The channel that a header has been waiting for may be ready for it. */
	if (st->rx_state == COLL_RX_DATA && !coll_rx_orphan(st))
		coll_rx_offer(&rx);
	if (rx.budget && !st->bad && !coll_rx_broken_off(st))
		tcp_read_sock(sk, &desc, coll_rx_actor);
	/* tcp_read_sock() never reads past urgent data. A peer that is coll sends none. */
	if (!st->bad && READ_ONCE(tcp_sk(sk)->urg_data))
		coll_rx_garbage(&rx);
	if (!st->closed && coll_rx_ended(st)) {
		st->error = READ_ONCE(sk->sk_err) ?: st->error;
		WRITE_ONCE(st->stat.state, COLL_NL_LINK_STATE_DOWN);
		WRITE_ONCE(st->closed, true);
	}
	coll_rx_lowat(st, rx.stop);
	release_sock(sk);
	coll_rx_hang_up(st);
	return !rx.budget || rx.again;
}
