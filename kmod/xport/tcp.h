/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links over TCP sockets that user space has connected and handed over.
 *
 * A link has two streams: stripe 0 carries control frames, stripe 1 data. One
 * work item per link does everything: it reads control, sends control, then
 * sends and reads data for the running op. It is bounded, and queued by
 *   - the socket callbacks (softirq): bytes, room, end or error
 *   - the executor: a watermark that a step of this link waits for has moved
 *   - core: an op has started, the group has failed, a member has left
 * As queueing a running work item runs it again, nothing is ever missed. All
 * state of a stream below belongs to that work item, unless it says otherwise.
 */
#ifndef COLL_XPORT_TCP_H
#define COLL_XPORT_TCP_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/workqueue.h>

#include "../core/link.h"
#include "../core/sweep.h"
#include "../pure/wire.h"

struct coll_op;
struct coll_tcp_link;

#define COLL_STRIPE_CTRL	0
#define COLL_STRIPE_DATA	1
#define COLL_TCP_STRIPES	2

/* Header and the largest control payload. */
#define COLL_TCP_BUF		(COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX)

/* What the receive side of a stream is in the middle of. */
enum coll_rx_state {
	COLL_RX_HEADER,		/* collecting a header in rx_buf */
	COLL_RX_CTRL,		/* collecting a control payload behind it */
	COLL_RX_MATCH,		/* DATA header is there; which step is it for? */
	COLL_RX_PAYLOAD,	/* bytes go to the step's range */
};

/**
 * struct coll_stream - one socket of a link
 * @link: owner
 * @stripe: COLL_STRIPE_*
 * @sock: the socket, referenced
 * @saved_data_ready: callbacks as they were; set under sk_callback_lock, and so
 *	for the next three
 * @saved_write_space: see above
 * @saved_state_change: see above
 * @saved_error_report: see above
 * @greeted: the peer's HELLO was right. Written by the work, read by anyone.
 * @closed: no more bytes will come. Likewise.
 * @error: errno the socket broke with, positive; 0: it closed in order
 * @rx_state: see enum coll_rx_state
 * @rx_have: bytes in @rx_buf
 * @rx_frame: header being worked on
 * @rx_left: bytes of its payload still to come
 * @rx_carry: first bytes of an element that straddles fragments
 * @rx_carried: how many
 * @rx_buf: header, control payload
 * @tx_hello: HELLO has been put into @tx_buf
 * @tx_len: bytes in @tx_buf
 * @tx_off: of these, sent
 * @tx_left: payload bytes of the frame in @tx_buf still to send
 * @tx_token: that frame is a token: its step is done when the header is out
 * @tx_buf: header, control payload; page-backed, for it goes into bio_vecs
 * @stat: counters; read by anyone, so each written with WRITE_ONCE()
 */
struct coll_stream {
	struct coll_tcp_link *link;
	u32 stripe;
	struct socket *sock;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
	void (*saved_error_report)(struct sock *sk);
	bool greeted;
	bool closed;
	int error;

	/* receive state */
	enum coll_rx_state rx_state;
	u32 rx_have;
	struct coll_frame rx_frame;
	u32 rx_left;
	u32 rx_carried;
	u8 rx_carry[COLL_PARTIAL_MAX];
	u8 rx_buf[COLL_TCP_BUF];

	/* send state */
	bool tx_hello;
	bool tx_token;
	u32 tx_len;
	u32 tx_off;
	u32 tx_left;
	u8 tx_buf[COLL_TCP_BUF];

	struct coll_link_stat stat;
};

/**
 * struct coll_tcp_link - all streams to one peer
 * @link: what core knows
 * @setup: serializes handing over
 * @streams: set once, with release
 * @work: see the top of this file
 * @lost: a data stream has closed: gives the control stream a moment to say why
 * @sweep: scratch of the work
 * @byes_sent: local ranks that have left, as told to the peer
 * @byes_got: ranks of the peer that have left
 * @abort_sent: ABORT has been put into the control stream
 * @lost_seq: op that still needed the data stream when it was seen closed
 * @announced: the op the peer was last told of by POST
 * @peer_seq: the op it has told us of; read by anyone
 * @peer_sig: its signature
 */
struct coll_tcp_link {
	struct coll_link link;
	struct mutex setup;
	struct coll_stream *streams[COLL_TCP_STRIPES];
	struct work_struct work;
	struct delayed_work lost;
	struct coll_sweep *sweep;
	u32 byes_sent;
	u32 byes_got;
	bool abort_sent;
	u64 lost_seq;
	u64 announced;
	u64 peer_seq;
	u64 peer_sig;
};

extern const struct coll_transport coll_tcp_transport;

/* tcp_rx.c */

/**
 * coll_stream_rx() - read what there is, and what the running op wants
 * @st: stream
 * @op: running op with a use, or NULL
 *
 * Sets st->closed. Reports wrong bytes by failing the group.
 * Return: true if the budget was used up, so that there may be more.
 */
bool coll_stream_rx(struct coll_stream *st, struct coll_op *op);

/* tcp_tx.c */

/* Send HELLO, ABORT, BYE and POST as they are due. */
void coll_stream_tx_ctrl(struct coll_stream *st);

/**
 * coll_stream_tx_data() - send what the running op has for the peer
 * @st: data stream
 * @op: running op with a use, or NULL: just HELLO
 *
 * Return: true if the budget was used up.
 */
bool coll_stream_tx_data(struct coll_stream *st, struct coll_op *op);

/* tcp.c */

/* Fail the group for what the peer sent (PROTO, MISMATCH) or did (LINK). */
void coll_tcp_fail(struct coll_tcp_link *tl, u32 kind, int error, u64 seq,
		   u32 code);

#endif /* COLL_XPORT_TCP_H */
