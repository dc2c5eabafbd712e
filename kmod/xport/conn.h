/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections: two TCP streams to another node, and the channels on them.
 *
 * One carries control frames, the other one data. Where a group has several links to a
 * node each is a conn of its own, and they share nothing. The group that handed the
 * sockets over uses them through its channel (channel.h), and so may further
 * groups: frames name their communicator. Frames of several channels take turns.
 *
 * One work item per conn does everything: it reads control, sends control, then
 * sends and reads data for the running ops. It is bounded, and queued by
 *   - the socket callbacks (softirq): bytes, room, end or error
 *   - the executor: a watermark that a step of a channel waits for has moved
 *   - core: an op has started, a group has failed, a member has left
 * While it runs nobody need queue it: what is wanted is noted, and it looks again before
 * it ends, so nothing is ever missed. A caller that waits in a system call for an op of the
 * only group attends instead: it is woken, and does the same in its own context. If it is
 * at another conn just then, the work takes this one, as long as we do not use all CPUs,
 * and unless what it waits for is short. Messages are the work's.
 * Both hold conn->lock; all state of streams and channels belongs to it, unless it says
 * otherwise.
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
 * @saved_data_ready: callbacks as they were; set under sk_callback_lock, and so
 *	for the next four
 * @saved_write_space: see above
 * @saved_state_change: see above
 * @saved_error_report: see above
 * @saved_rcvlowat: see above; while we have the socket it is ours, see coll_rx()
 * @greet: the handshake; first on the stream in each direction
 * @established: it is over: the peer knows the key. Written by the work, read by anyone.
 * @closed: no more bytes will come. Written by the work, read by anyone.
 * @bad: the peer has broken the protocol: it is not read any more. Written by the work, read by
 * anyone.
 * @error: errno the socket broke with, positive; 0: it closed in order
 * @rx_state: see enum coll_rx_state
 * @rx_have: bytes in @rx_buf
 * @rx_frame: header being worked on
 * @rx_ch: its channel; NULL: not here, or not any more
 * @rx_fresh: DATA: @rx_ch has not been given the header yet
 * @rx_left: bytes of its payload still to come
 * @rx_buf: header, control payload
 * @tx_ch: whose DATA or MSG frame is being sent; NULL: none's, or zeroes end it
 * @tx_msg: number of its message; 0: it is DATA
 * @tx_len: bytes in @tx_buf
 * @tx_off: of these, sent
 * @tx_pos: bytes that the socket has taken since we have it
 * @tx_left: payload bytes of the frame in @tx_buf still to send
 * @tx_waits: zeroes are to end it, once the peer's ABORT is there
 * @tx_since: jiffies when that was so first
 * @tx_token: that frame is a token: its step is done when the header is out
 * @tx_loan: bytes of its payload that are lent: they count as sent when the header is out
 * @tx_mode: how its payload goes
 * @tx_buf: header, control payload; page-backed, for it goes into bio_vecs
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
	u8 tx_buf[COLL_STREAM_BUF];

	struct coll_link_stat stat;
};

/**
 * struct coll_tx_choice - how large frames go on a data stream; see tx_choice.c
 * @mode: as chosen; read by anyone
 * @kin: the other end is in this kernel
 * @direct: see coll_sock_is_direct(); else a ubuf is not chosen
 * @rate: best of each mode, bytes per second, 0: not known; read by anyone
 * @tried: trials of each mode that have ended in this round
 * @ops: large ones since the last round
 * @small: ops of up to so many bytes send too few bytes to the peer to be timed
 * @ch: whose op is a trial, or NULL
 * @bytes: of that op
 * @trial: in this mode
 * @since: when it began to send
 * @from: its @tx_sent then
 * @until: @tx_acked that ends the trial; 0: not there yet
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
#define COLL_CONN_URGENT	2	/* it may not wait for a watcher that is busy */

/**
 * struct coll_conn - see the top of this file
 * @ref: one for each channel, until it has let go of @lock
 * @lock: held by the work, and while streams and channels are added or removed
 * @channels: its channels, those first that have not sent control for longest; protected by @lock
 * @by_comm: the same, by communicator; protected by @lock
 * @users: number of @channels; written under @lock, read by anyone
 * @talks: messages were under way when the last pass ended. Written under @lock, read by
 * anyone.
 * @shared: there has been a second channel: frames of channels that have gone may still come.
 *	Written under @lock.
 * @soft: a channel has ended in order: the bytes it sent must arrive. Written under @lock.
 * @hello: the HELLO of the group it was made for, which may be gone, on the control
 *	stream; without a nonce, of which each stream has its own
 * @key: key of that group
 * @comm: that group's communicator, as frames name it
 * @epoch: incarnation of that group
 * @cred: of the maker of the conn: the sockets are used with these credentials, whichever
 * thread does the work
 * @user: owner of all its groups, referenced; @work is on its queue
 * @streams: each set once, with release
 * @work: see the top of this file
 * @working: @work runs, and will look at @wanted before it ends. Written under @lock.
 * @watch_lock: protects @watcher. The watcher stays while it is woken, and no new watcher
 *	comes while one that leaves sets @rx_idle. Taken in any context. The lock of the wait
 *	queue of the watcher is the only one taken under it.
 * @watcher: a caller that polls this conn, so that @work need not be queued; or NULL
 * @wanted: COLL_CONN_*: the reasons for which @work would have been queued
 * @rx_idle: data that comes is for an op that has not been posted: it waits in the socket,
 *	and need wake nobody. A thread that wants data kicks, which clears it.
 * @again: queues the work again after an allocation has failed
 * @ubuf_lock: what ubufs write when they come back: @zerocopied, and channels' @ubufs and
 *	@ubufs_out. Any context; only @watch_lock is taken under it.
 * @choice: how large frames go; @lock
 * @zerocopied: bytes that were sent without a copy; read by anyone
 */
struct coll_conn {
	struct kref ref;
	struct mutex lock;
	struct list_head channels;
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
	/* pairs with the store in coll_conn_add() */
	return smp_load_acquire(&conn->streams[i]);
}

/**
 * coll_conn_alloc() - a conn without streams and channels
 * @hello: of the group it is made for, on the control stream
 * @key: of that group, COLL_KEY_SIZE bytes
 * @epoch: of that group
 * @user: of that group
 * @pass: function of the work: it does all that there is to do
 *
 * Return: the conn; -ENOMEM; -EMFILE if the user has too many.
 */
struct coll_conn *coll_conn_alloc(const struct coll_hello *hello, const u8 *key,
				  u32 epoch, struct coll_user *user, work_func_t pass);

/**
 * coll_conn_enter() - one more channel, and a reference for it
 * @conn: under conn->lock, or known to nobody
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
 * coll_conn_hello() - what a stream says first
 * @st: stream
 * @h: result
 */
void coll_conn_hello(const struct coll_stream *st, struct coll_hello *h);

/* Are all streams there? Any context. */
bool coll_conn_complete(const struct coll_conn *conn);

/* And has the peer proved on each that it knows the key? Any context. */
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
