// SPDX-License-Identifier: GPL-2.0
/* Channels as core sees them: its links. How they begin and end. */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/sock.h>

#include "../core/exec/exec.h"
#include "../core/group/account.h"
#include "../core/group/transport.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/p2p/bytes.h"
#include "../core/p2p/frames.h"
#include "../core/p2p/messages.h"
#include "channel.h"
#include "channel_link.h"
#include "conn.h"
#include "lost.h"
#include "pass.h"
#include "rx.h"
#include "sock.h"
#include "tx_choice.h"
#include "tx_zerocopy.h"
#include "wake.h"

/*
 * Remove a channel, which no op uses any more, from its conn. @hard: bytes that it has sent need
 * not arrive. Bytes that still come for it are dropped. Its reference to the conn stays.
 */
static void coll_conn_leave(struct coll_conn *conn, struct coll_channel *ch, bool hard)
{
	u32 i;

	mutex_lock(&conn->lock);
	list_del(&ch->list);
	hash_del(&ch->by_comm);
	for (i = 0; i < COLL_STRIPES; i++) {
		struct coll_stream *st = conn->streams[i];

		if (st && st->rx_ch == ch)
			st->rx_ch = NULL;
		if (!st || st->tx_ch != ch)
			continue;
		/* The peer would take zeroes for data: see coll_tx_find(). */
		if (!ch->peer_rx_closed)
			coll_tx_break_off(st);
		WRITE_ONCE(st->tx_ch, NULL);
	}
	coll_choice_leave(ch);
	conn->soft |= !hard;
	WRITE_ONCE(conn->users, conn->users - 1);
	/* A frame of the channel may have blocked other channels. */
	coll_conn_queue(conn);
	mutex_unlock(&conn->lock);
}

static struct coll_channel *to_channel(const struct coll_link *link)
{
	return container_of(link, struct coll_channel, link);
}

static void coll_ch_kick(struct coll_link *link)
{
	coll_conn_kick(to_channel(link)->conn);
}

static void coll_ch_call(struct coll_link *link)
{
	coll_conn_queue(to_channel(link)->conn);
}

static void coll_ch_alert(struct coll_link *link)
{
	coll_conn_alert(to_channel(link)->conn);
}

static void coll_ch_stir(struct coll_link *link)
{
	coll_conn_stir(to_channel(link)->conn);
}

static bool coll_ch_watch(struct coll_link *link, struct coll_watcher *w)
{
	return coll_conn_watch(to_channel(link)->conn, w);
}

static void coll_ch_unwatch(struct coll_link *link, struct coll_watcher *w)
{
	coll_conn_unwatch(to_channel(link), w);
}

static bool coll_ch_due(const struct coll_link *link, const struct coll_watcher *w)
{
	return coll_conn_due(to_channel(link)->conn, w);
}

static void coll_ch_attend(struct coll_link *link, struct coll_watcher *w)
{
	coll_conn_attend(to_channel(link)->conn, w);
}

static bool coll_ch_connected(const struct coll_link *link)
{
	return coll_conn_complete(to_channel(link)->conn);
}

static bool coll_ch_ready(const struct coll_link *link)
{
	const struct coll_channel *ch = to_channel(link);

	return coll_ch_established(ch);
}

static u64 coll_ch_posted(const struct coll_link *link)
{
	return READ_ONCE(to_channel(link)->peer_seq);
}

static void coll_ch_stat(const struct coll_link *link, u32 i,
			 struct coll_link_stat *s)
{
	const struct coll_channel *ch = to_channel(link);
	const struct coll_stream *st;

	BUILD_BUG_ON(COLL_LINK_STREAMS != COLL_STRIPES);
	st = coll_conn_stream(ch->conn, i);
	memset(s, 0, sizeof(*s));
	if (st)
		*s = st->stat;
	s->peer = link->peer;
	s->stripe = link->nr * COLL_STRIPES + i;
	s->users = READ_ONCE(ch->conn->users);
	if (i == COLL_STRIPE_DATA) {
		s->spilled = READ_ONCE(ch->spilled);
		s->zerocopied = READ_ONCE(ch->conn->zerocopied);
		s->send_mode = coll_tx_mode_now(ch->conn);
		for (i = 0; i < COLL_SEND_MODES; i++)
			s->rate[i] = READ_ONCE(ch->conn->choice.rate[i]);
	}
	if (ch->shared && !READ_ONCE(ch->established) && s->state == COLL_NL_LINK_STATE_UP)
		s->state = COLL_NL_LINK_STATE_GREETING;
}

/* Has the peer proved that it knows the key, or can it not do so any more? */
static bool coll_ch_settled(const struct coll_channel *ch)
{
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++) {
		const struct coll_stream *st = coll_conn_stream(ch->conn, i);

		if (!st || READ_ONCE(st->closed) || READ_ONCE(st->bad))
			return true;
	}
	/* The HELLO or the PROOF of the peer was refused. */
	if (ch->shared && READ_ONCE(ch->greet.state) == COLL_GREET_REFUSED)
		return !READ_ONCE(ch->greet.hello_due);
	return coll_ch_established(ch);
}

/*
 * Return: false if the channel has sent a part of a frame, and has to wait for the peer before it
 * completes the frame with zeroes. See coll_tx_find().
 */
static bool coll_ch_is_through(const struct coll_channel *ch)
{
	const struct coll_stream *data = coll_conn_stream(ch->conn, COLL_STRIPE_DATA);

	return !data || READ_ONCE(data->tx_ch) != ch || READ_ONCE(ch->peer_rx_closed) ||
	       READ_ONCE(data->closed);
}

/* Can the streams be closed without losing sent bytes? See coll_ch_lingers(). */
static bool coll_ch_may_close(const struct coll_channel *ch)
{
	const struct coll_stream *data = coll_conn_stream(ch->conn, COLL_STRIPE_DATA);

	return !data || READ_ONCE(ch->peer_rx_closed) || READ_ONCE(data->closed) ||
	       READ_ONCE(ch->conn->users) != 1 ||
	       skb_queue_empty_lockless(&data->sock->sk->sk_receive_queue);
}

/* Is a control frame of the channel due, or sent in part? Under conn->lock. */
static bool coll_ch_has_ctrl_locked(const struct coll_channel *ch, const struct coll_stream *ctrl)
{
	struct coll_group *g = ch->link.group;
	struct coll_bye bye;

	lockdep_assert_held(&ch->conn->lock);
	if (ctrl->tx_off < ctrl->tx_len)
		return true;
	if (coll_group_error(g))
		return !ch->abort_sent;
	return coll_group_goodbye(g, ch->byes_sent, &bye) ||
	       (!ch->link.nr && coll_msg_has_frames(g, ch->link.peer));
}

/*
 * Does the peer wait for a control frame? Its sends may wait for CTS. Everything that it has
 * posted may wait for BYE or ABORT. If the stream is full, one pass does not send all frames.
 */
static bool coll_ch_owes_ctrl(const struct coll_channel *ch)
{
	const struct coll_stream *ctrl = coll_conn_stream(ch->conn, COLL_STRIPE_CTRL);
	bool owes;

	if (!ctrl || READ_ONCE(ctrl->closed) || READ_ONCE(ctrl->bad) ||
	    READ_ONCE(ch->peer_rx_closed) || !coll_ch_established(ch))
		return false;
	mutex_lock(&ch->conn->lock);
	owes = coll_ch_has_ctrl_locked(ch, ctrl);
	mutex_unlock(&ch->conn->lock);
	return owes;
}

/*
 * Does the peer's TCP have all control frames that the peer needs? If we closed the stream before,
 * and a late byte of the peer met the closed socket, a RST would answer it, and a frame that has to
 * be sent again would be lost. After BYE of all its ranks no process of the peer waits for a frame.
 * If the conn has other channels, they keep the stream open.
 */
static bool coll_ch_is_confirmed(const struct coll_channel *ch)
{
	const struct coll_stream *ctrl = coll_conn_stream(ch->conn, COLL_STRIPE_CTRL);

	return !ctrl || READ_ONCE(ctrl->closed) || READ_ONCE(ctrl->bad) ||
	       READ_ONCE(ch->conn->users) != 1 || !coll_ch_established(ch) ||
	       READ_ONCE(ch->byes_got) >= coll_ch_peer_ranks(ch) ||
	       coll_sock_is_confirmed(ctrl->sock->sk);
}

static void coll_ch_flush(struct coll_link *link)
{
	coll_conn_flush(to_channel(link)->conn);
}

/*
 * coll_ch_flush() has tried once to send the last frames of members. Passes that follow send the
 * rest while the channel lingers. The waits of all links of a group begin at the same time.
 */
static bool coll_ch_lingers(const struct coll_link *link, bool hard)
{
	const struct coll_channel *ch = to_channel(link);
	unsigned long since = coll_group_reaped(link->group);

	/* A failed group may still have to send the rest of a frame, and its ABORT. */
	if (time_before(jiffies, since + COLL_TX_GRACE) &&
	    !(coll_ch_is_through(ch) && coll_ch_is_confirmed(ch)))
		return true;
	if (!time_before(jiffies, since + coll_dead_after() * HZ))
		return false;
	if (coll_ch_owes_ctrl(ch) || (!hard && !coll_ch_is_confirmed(ch)))
		return true;
	/*
	 * The peer has begun an op that this node has not, and may still be in an earlier
	 * op. Closing a stream with unread bytes resets it, and the peer loses bytes that we
	 * have sent. So wait until the peer has failed and says so. Over a slow link that takes
	 * long.
	 */
	if (!hard && !coll_ch_may_close(ch))
		return true;
	/*
	 * The peer may still send HELLO. Without an answer it would not learn that this group
	 * existed and why it ended. It is told nothing before it has proved that it knows the key.
	 */
	return !coll_ch_settled(ch);
}

static void coll_ch_free(struct coll_channel *ch)
{
	coll_desk_close(ch);
	coll_backlog_free(&ch->backlog);
	coll_sweep_free(ch->sweep);
	kfree(ch->piece);
	kfree_sensitive(ch);
}

static void coll_ch_close(struct coll_link *link, bool hard)
{
	struct coll_channel *ch = to_channel(link);
	struct coll_conn *conn = ch->conn;

	/* Answer the HELLO of a peer that has joined late, and send the frames that follow. */
	if (ch->shared)
		coll_conn_flush(conn);
	coll_conn_leave(conn, ch, hard);
	cancel_delayed_work_sync(&ch->lost);
	/* The other end kicks the conn while it holds desk->lock: free the desk before the conn. */
	coll_ch_free(ch);
	coll_conn_put(conn);
}

static const struct coll_link_ops coll_ch_ops = {
	.kick	= coll_ch_kick,
	.call	= coll_ch_call,
	.alert	= coll_ch_alert,
	.stir	= coll_ch_stir,
	.watch	= coll_ch_watch,
	.unwatch = coll_ch_unwatch,
	.due	= coll_ch_due,
	.attend	= coll_ch_attend,
	.connected = coll_ch_connected,
	.ready	= coll_ch_ready,
	.posted	= coll_ch_posted,
	.stat	= coll_ch_stat,
	.flush	= coll_ch_flush,
	.lingers = coll_ch_lingers,
	.close	= coll_ch_close,
};

static struct coll_channel *coll_ch_alloc(struct coll_group *g, u32 peer, u32 nr)
{
	struct coll_channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL_ACCOUNT);

	if (!ch)
		return NULL;
	coll_group_facts(g, &ch->facts);
	ch->sweep = coll_sweep_alloc(ch->facts.nr_local, COLL_PARTIAL_MAX, true);
	if (!ch->sweep) {
		kfree_sensitive(ch);
		return NULL;
	}
	ch->link.ops = &coll_ch_ops;
	ch->link.group = g;
	ch->link.peer = peer;
	ch->link.nr = nr;
	coll_greet_name(ch->facts.key, ch->name);
	ch->comm = coll_wire_comm(ch->name);
	coll_greet_init(&ch->greet);
	coll_backlog_init(&ch->backlog, ch->facts.early, ch->facts.memcg);
	INIT_DELAYED_WORK(&ch->lost, coll_ch_lost);
	INIT_LIST_HEAD(&ch->ubufs_out);
	if (coll_desk_alloc(ch)) {
		coll_sweep_free(ch->sweep);
		kfree_sensitive(ch);
		return NULL;
	}
	return ch;
}

/* Make the channel a link of its group. Then open its desk, before the channel can send HELLO. */
static bool coll_ch_admit_locked(struct coll_channel *ch)
{
	lockdep_assert_held(&ch->conn->lock);
	if (!coll_group_add_link(&ch->link))
		return false;
	coll_desk_open(ch);
	return true;
}

/* A channel with a conn of its own. */
static struct coll_channel *coll_ch_alloc_own(struct coll_group *g, u32 peer, u32 nr)
{
	struct coll_channel *ch = coll_ch_alloc(g, peer, nr);
	struct coll_conn *conn;
	struct coll_hello hello;

	if (!ch)
		return ERR_PTR(-ENOMEM);
	coll_ch_hello(ch, &hello);
	conn = coll_conn_alloc(&hello, ch->facts.key, ch->facts.epoch, ch->facts.user,
			       coll_conn_work);
	if (IS_ERR(conn)) {
		coll_ch_free(ch);
		return ERR_CAST(conn);
	}
	ch->conn = conn;
	coll_conn_enter(conn, ch);
	return ch;
}

/*
 * The link to a peer; made for its first stream. A refused socket leaves a link without streams. No
 * op uses it, because it is not connected, but the state of the communicator is JOINING until it gets
 * its streams.
 */
static struct coll_channel *coll_ch_get(struct coll_group *g, u32 peer, u32 nr)
{
	struct coll_link *have = coll_group_link(g, peer, nr);
	struct coll_channel *ch;
	bool admitted;

	if (have)
		return to_channel(have);
	ch = coll_ch_alloc_own(g, peer, nr);
	if (IS_ERR(ch))
		return ch;
	/* A thread that finds the link takes the lock before it adds a stream. */
	mutex_lock(&ch->conn->lock);
	admitted = coll_ch_admit_locked(ch);
	mutex_unlock(&ch->conn->lock);
	if (admitted)
		return ch;
	coll_conn_put(ch->conn);
	coll_ch_free(ch);
	return to_channel(coll_group_link(g, peer, nr));
}

int coll_ch_add(struct coll_group *g, u32 peer, u32 stripe, struct socket *sock)
{
	struct coll_channel *ch = coll_ch_get(g, peer, stripe / COLL_STRIPES);

	if (IS_ERR(ch))
		return PTR_ERR(ch);
	return ch->shared ? -EEXIST : coll_conn_add(ch->conn, stripe % COLL_STRIPES, sock);
}

/* May the channel join? Under conn->lock. */
static int coll_ch_may_share_locked(const struct coll_channel *ch,
				    const struct coll_conn *conn)
{
	const struct coll_channel *other;
	u32 i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; i < COLL_STRIPES; i++) {
		const struct coll_stream *st = coll_conn_stream(conn, i);

		if (!st || st->closed || st->bad)
			return -ENOTCONN;
	}
	list_for_each_entry(other, &conn->channels, list)
		if (other->comm == ch->comm &&
		    other->facts.epoch == ch->facts.epoch)
			return -EEXIST;
	return 0;
}

int coll_ch_share(struct coll_group *g, u32 peer, u32 nr, struct coll_link *via)
{
	struct coll_conn *conn = to_channel(via)->conn;
	struct coll_channel *ch = coll_ch_alloc(g, peer, nr);
	int ret;

	if (!ch)
		return -ENOMEM;
	ch->shared = true;
	ch->conn = conn;
	mutex_lock(&conn->lock);
	ret = coll_ch_may_share_locked(ch, conn);
	if (!ret && !coll_ch_admit_locked(ch))
		ret = -EEXIST;
	if (!ret)
		coll_conn_enter(conn, ch);
	mutex_unlock(&conn->lock);
	if (ret)
		coll_ch_free(ch);
	else
		coll_conn_queue(conn);
	return ret;
}
