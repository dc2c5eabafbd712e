/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: two TCP streams to another node, and the channels on them.
 *
 * One stream carries control frames, the other one data. If a group has several links to a
 * node, each link is a conn of its own. The group that handed the sockets over uses them
 * through its channel (channel.h). Other groups may do the same: each frame names its
 * communicator. Frames of several channels take turns.
 *
 * One work item per conn does everything: it reads control, sends control, then
 * sends and reads data for the running ops. It is bounded, and queued by
 *   - the socket callbacks (softirq): bytes, room, end or error
 *   - the executor: a watermark that a step of a channel waits for has moved
 *   - core: an op has started, a group has failed, a member has left
 * While the work runs, an event sets a bit in ->wanted instead. The work checks ->wanted
 * before it ends, so no event is missed. If the conn has one group, a caller that waits for an
 * op in a system call attends instead of the work: events wake the caller, and it does the same
 * in its own context. If the caller is at another conn then, the work takes this one, unless
 * all CPUs are in use or the op is short. Messages are always left to the work.
 * The work and the caller hold conn->lock. It protects all state of streams and channels,
 * unless a field says otherwise.
 *
 * No channel blocks another forever: see coll_conn_wanted_locked().
 */
#ifndef COLL_XPORT_CONN_H
#define COLL_XPORT_CONN_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../core/group/link.h"
#include "../pure/wire.h"
#include "greet.h"

struct coll_channel;
struct coll_conn;
struct coll_user;

#define COLL_STRIPE_CTRL	0
#define COLL_STRIPE_DATA	1
#define COLL_STRIPES		2

/* Lists of channels of a conn, by communicator */
#define COLL_CONN_HASH_BITS	5

/* Header and the largest control payload. */
#define COLL_STREAM_BUF		(COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX)
/* Control frames that one sendmsg takes: a few small ones, and one of the largest behind them. */
#define COLL_TX_BUF		(2 * COLL_STREAM_BUF)

/* State of the receive side of a stream. */
enum coll_rx_state {
	COLL_RX_HEADER,		/* collecting a header in rx_buf */
	COLL_RX_CTRL,		/* collecting a control payload behind it */
	COLL_RX_DATA,		/* DATA: its channel takes it, or it goes to the backlog */
	COLL_RX_MSG,		/* MSG: into the receive that expects it */
	COLL_RX_DROP,		/* payload whose receiver has gone */
};

/**
 * struct coll_stream - one socket of a conn
 * @conn: owner
 * @stripe: COLL_STRIPE_*
 * @sock: the socket, referenced
 * @saved_data_ready: callback of the socket before it was claimed; set under sk_callback_lock,
 *	like the next four
 * @saved_write_space: see above
 * @saved_state_change: see above
 * @saved_error_report: see above
 * @saved_rcvlowat: see above; coll_rx() sets the value while the socket is claimed
 * @greet: the handshake: the first frames on the stream in each direction
 * @established: the handshake is complete: the peer knows the key. Written by the work, read by
 *	anyone.
 * @closed: no more bytes will come. Written by the work, read by anyone.
 * @bad: the peer has broken the protocol: it is not read any more. Written by the work, read by
 * anyone.
 * @error: positive errno with which the socket failed; 0: it closed in order
 * @rx_state: see enum coll_rx_state
 * @rx_have: bytes in @rx_buf
 * @rx_frame: header of the frame that is being received
 * @rx_ch: channel of @rx_frame; NULL: it does not exist yet, or has gone
 * @rx_fresh: DATA: @rx_ch has not been given the header yet
 * @rx_left: payload bytes of @rx_frame still to come
 * @rx_buf: header, control payload
 * @tx_ch: channel whose DATA or MSG frame is being sent; NULL: none, or zeroes complete the frame
 * @tx_msg: number of the message that the frame belongs to; 0: the frame is DATA
 * @tx_len: bytes in @tx_buf
 * @tx_off: bytes of @tx_buf that have been sent; it is filled again when all are sent
 * @tx_pos: bytes that the socket has accepted since it was claimed
 * @tx_left: payload bytes of the frame in @tx_buf still to send
 * @tx_waits: zeroes will complete the frame once the peer reads no more DATA
 * @tx_since: jiffies when @tx_waits was set
 * @tx_token: the frame is a token: its step is done when the header is sent
 * @tx_loan: payload bytes of the frame that are lent: they count as sent when the header is sent
 * @tx_mode: how the payload of the frame is sent
 * @tx_buf: control: whole frames; data: a header. Page-backed, because bio_vecs refer to it
 * @stat: counters; read by anyone, so each written with WRITE_ONCE()
 */
struct coll_stream {
	struct coll_conn *conn;
	u32 stripe;
	struct socket *sock;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
	void (*saved_error_report)(struct sock *sk);
	int saved_rcvlowat;
	struct coll_greet greet;
	bool established;
	bool closed;
	bool bad;
	int error;

	/* receive state */
	enum coll_rx_state rx_state;
	u32 rx_have;
	struct coll_frame rx_frame;
	struct coll_channel *rx_ch;
	bool rx_fresh;
	u32 rx_left;
	u8 rx_buf[COLL_STREAM_BUF];

	/* send state */
	struct coll_channel *tx_ch;
	u64 tx_msg;
	bool tx_waits;
	unsigned long tx_since;
	bool tx_token;
	u32 tx_loan;
	enum coll_nl_send_mode tx_mode;
	u64 tx_pos;
	u32 tx_len;
	u32 tx_off;
	u32 tx_left;
	u8 tx_buf[COLL_TX_BUF];

	struct coll_link_stat stat;
};

/**
 * struct coll_tx_choice - how large frames are sent on a data stream; see tx_choice.c
 * @mode: the chosen mode; read by anyone
 * @kin: the other end is in this kernel
 * @direct: see coll_sock_is_direct(); if false, ubuf is not chosen
 * @rate: best rate of each mode, in bytes per second; 0: not known; read by anyone
 * @tried: trials of each mode that have ended in this round
 * @ops: large ops since the last round
 * @small: ops of up to this number of bytes send too few bytes to the peer to be timed
 * @ch: channel whose op is a trial, or NULL
 * @bytes: of the op that is a trial
 * @trial: mode of the trial
 * @since: when the op began to send, in nanoseconds
 * @from: @tx_sent of @ch at @since
 * @until: @tx_acked that ends the trial; 0: not known yet
 */
struct coll_tx_choice {
	enum coll_nl_send_mode mode;
	bool kin;
	bool direct;
	u64 rate[COLL_SEND_MODES];
	u32 tried[COLL_SEND_MODES];
	u32 ops;
	u64 small;
	struct coll_channel *ch;
	u64 bytes;
	enum coll_nl_send_mode trial;
	u64 since;
	u64 from;
	u64 until;
};

/* struct coll_conn.wanted: bit numbers */
#define COLL_CONN_KICKED	0	/* coll_conn_kick() */
#define COLL_CONN_DATA		1	/* data has come, which running ops may want */
#define COLL_CONN_URGENT	2	/* a busy watcher may not delay it */
#define COLL_CONN_ALERT	3	/* coll_conn_alert() */

/**
 * struct coll_conn - see the top of this file
 * @ref: one for each channel, until it has let go of @lock
 * @lock: held by the work, and while streams and channels are added or removed
 * @channels: its channels; the channel that sent least recently is first; protected by @lock
 * @active: during a pass over data: channels that have an op or a message; in the order of
 *	@channels; protected by @lock
 * @by_comm: @channels by communicator; protected by @lock
 * @users: number of @channels; written under @lock, read by anyone
 * @talks: messages were under way when the last pass ended. Written under @lock, read by
 * anyone.
 * @shared: a second channel has existed: frames of channels that have gone may still come.
 *	Written under @lock.
 * @soft: a channel has ended in order: the bytes it sent must arrive. Written under @lock.
 * @hello: HELLO, on the control stream, of the group that the conn was made for. That group may
 *	be gone. The data stream has a nonce of its own.
 * @key: key of that group
 * @comm: that group's communicator, as frames name it
 * @epoch: incarnation of that group
 * @cred: credentials of the task that made the conn: every thread uses the sockets with them
 * @user: owner of all its groups, referenced; @work is on its queue
 * @streams: each set once, with release
 * @work: see the top of this file
 * @working: @work runs, and will look at @wanted before it ends. Written under @lock.
 * @watch_lock: protects @watcher. The watcher cannot leave while it is woken, and no new watcher
 *	can come while a leaving one sets @rx_idle. Taken in any context. The lock of the wait
 *	queue of the watcher is the only one taken under it.
 * @watcher: a caller that polls this conn, so that @work need not be queued; or NULL
 * @wanted: COLL_CONN_*: the reasons for which @work would have been queued
 * @rx_idle: data that comes is for an op that has not been posted: it waits in the socket,
 *	and wakes no thread. A thread that wants data kicks, which clears @rx_idle.
 * @again: queues the work again after an allocation has failed
 * @ubuf_lock: protects what a returning ubuf writes: @zerocopied, and channels' @ubufs and
 *	@ubufs_out. Any context; only @watch_lock is taken under it.
 * @choice: how large frames are sent; protected by @lock
 * @zerocopied: bytes that were sent without a copy; read by anyone
 */
struct coll_conn {
	struct kref ref;
	struct mutex lock;
	struct list_head channels;
	struct list_head active;
	DECLARE_HASHTABLE(by_comm, COLL_CONN_HASH_BITS);
	u32 users;
	bool talks;
	bool shared;
	bool soft;
	struct coll_hello hello;
	u8 key[COLL_KEY_SIZE];
	u64 comm;
	u32 epoch;
	const struct cred *cred;
	struct coll_user *user;
	struct coll_stream *streams[COLL_STRIPES];
	struct work_struct work;
	bool working;
	spinlock_t watch_lock;
	struct coll_watcher *watcher;
	unsigned long wanted;
	bool rx_idle;
	struct delayed_work again;
	spinlock_t ubuf_lock;
	u64 zerocopied;
	struct coll_tx_choice choice;
};

/* A stream, or NULL if it has not been handed over. */
static inline struct coll_stream *coll_conn_stream(const struct coll_conn *conn,
						   u32 i)
{
	/* pairs with the store in coll_conn_add_locked() */
	return smp_load_acquire(&conn->streams[i]);
}

/**
 * coll_conn_alloc() - a conn without streams and channels
 * @hello: of the group it is made for, on the control stream
 * @key: of that group, COLL_KEY_SIZE bytes
 * @epoch: of that group
 * @user: of that group
 * @pass: function of the work, which does the passes
 *
 * Return: the conn; -ENOMEM; -EMFILE if the user has too many.
 */
struct coll_conn *coll_conn_alloc(const struct coll_hello *hello, const u8 *key,
				  u32 epoch, struct coll_user *user, work_func_t pass);

/**
 * coll_conn_enter() - one more channel, and a reference for it
 * @conn: under conn->lock, or not yet known to other threads
 * @ch: channel
 */
void coll_conn_enter(struct coll_conn *conn, struct coll_channel *ch);

/* Drop a channel's reference. The last one gives the sockets back. Sleeps. */
void coll_conn_put(struct coll_conn *conn);

/**
 * coll_conn_add() - one more stream
 * @conn: conn
 * @stripe: COLL_STRIPE_*
 * @sock: checked; the conn takes the reference over on success
 *
 * Return: 0, -EEXIST, -ENOMEM, -EBUSY, -ENOTCONN.
 */
int coll_conn_add(struct coll_conn *conn, u32 stripe, struct socket *sock);

/**
 * coll_conn_hello() - the HELLO of a stream
 * @st: stream
 * @h: result
 */
void coll_conn_hello(const struct coll_stream *st, struct coll_hello *h);

/* Are all streams there? Any context. */
bool coll_conn_complete(const struct coll_conn *conn);

/* Are all streams there, and has the peer proved on each that it knows the key? Any context. */
static inline bool coll_conn_established(const struct coll_conn *conn)
{
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++) {
		const struct coll_stream *st = coll_conn_stream(conn, i);

		if (!st || !READ_ONCE(st->established))
			return false;
	}
	return true;
}

#endif /* COLL_XPORT_CONN_H */
