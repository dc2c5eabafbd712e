// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/sock.h>

#include "../core/exec/exec.h"
#include "../core/op/op.h"
#include "../core/p2p/bytes.h"
#include "channel.h"
#include "rx.h"
#include "sock.h"
#include "tx.h"

/* Time a control stream has to explain why its data stream closed. */
#define COLL_LOST_GRACE	(HZ / 20)

static struct coll_channel *to_channel(const struct coll_link *link)
{
	return container_of(link, struct coll_channel, link);
}

void coll_ch_hello(const struct coll_channel *ch, struct coll_hello *h)
{
	const struct coll_group *g = ch->link.group;

	*h = (struct coll_hello){
		.size = g->size,
		.nr_nodes = g->nr_nodes,
		.src_node = g->node,
		.dst_node = ch->link.peer,
		.stripe = ch->link.nr * COLL_STRIPES + COLL_STRIPE_CTRL,
		.wire_min = COLL_WIRE_VERSION,
		.wire_max = COLL_WIRE_VERSION,
	};
	memcpy(h->name, ch->name, sizeof(h->name));
	/* Only a guest has a handshake of its own. */
	memcpy(h->nonce, ch->greet.nonce, sizeof(h->nonce));
}

void coll_ch_fail(struct coll_channel *ch, u32 kind, int error, u64 seq, u32 code)
{
	struct coll_group *g = ch->link.group;
	struct coll_cause cause;

	coll_group_cause(g, &cause, kind, error, COLL_RANK_NONE, seq);
	cause.node = ch->link.peer;
	cause.code = code;
	coll_group_fail(g, &cause);
}

void coll_ch_proto(struct coll_channel *ch, u64 seq)
{
	coll_ch_fail(ch, COLL_CAUSE_PROTO, EPROTO, seq, 0);
}

bool coll_ch_expects_msg(const struct coll_channel *ch)
{
	return !ch->link.nr && coll_msg_expects(ch->link.group, ch->link.peer);
}

bool coll_ch_owes(const struct coll_channel *ch)
{
	return !ch->link.nr && coll_msg_owes(ch->link.group, ch->link.peer);
}

bool coll_ch_talks(const struct coll_channel *ch)
{
	return coll_ch_expects_msg(ch) || coll_ch_owes(ch);
}

void coll_ch_begin(struct coll_channel *ch)
{
	/* A racy look: whoever starts an op kicks the links when it runs. */
	if (READ_ONCE(ch->link.group->nr_running))
		ch->nr_ops = coll_ops_running(ch->link.group, ch->ops);
	ch->rx_at = 0;
	ch->tx_at = 0;
	/* While the peer is there for sure: see coll_ch_may_read(). */
	if (!ch->kin_sought && coll_ch_greeted(ch))
		coll_desk_kin(ch);
	ch->busy |= ch->nr_ops || coll_ch_talks(ch);
}

/* The oldest running op that has a transfer left: @at moves on to it. */
static struct coll_op *coll_ch_oldest(struct coll_channel *ch, u32 *at,
				      bool (*has)(struct coll_exec *x, const struct coll_link *link))
{
	for (; *at < ch->nr_ops; ++*at) {
		struct coll_op *op = ch->ops[*at];

		if (has(op->exec, &ch->link))
			return coll_op_ending(op) ? NULL : op;
	}
	return NULL;
}

struct coll_op *coll_ch_receives(struct coll_channel *ch)
{
	return coll_ch_oldest(ch, &ch->rx_at, coll_exec_receives);
}

struct coll_op *coll_ch_sends(struct coll_channel *ch)
{
	return coll_ch_oldest(ch, &ch->tx_at, coll_exec_sends);
}

/* An op that the peer waits in is another one here: say so, or wait for ever. */
static void coll_ch_check_post(struct coll_channel *ch, const struct coll_op *op)
{
	if (ch->peer_seq == op->seq && ch->peer_sig != op->sig)
		coll_ch_fail(ch, COLL_CAUSE_MISMATCH, EBADE, op->seq, 0);
}

/* The data stream has ended, and the op needs more than has come by it. */
static bool coll_ch_starves(const struct coll_channel *ch, const struct coll_op *op)
{
	bool have = ch->aside.len || (ch->rx_state == COLL_CH_MATCH && !ch->rx_left) ||
		    coll_ch_on_loan(ch);
	struct coll_exec *x = op->exec;

	return coll_exec_sends(x, &ch->link) ||
	       (!have && coll_exec_receives(x, &ch->link));
}

void coll_ch_end(struct coll_channel *ch, bool closed)
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
		coll_op_put_use(ch->ops[i]);
	ch->nr_ops = 0;
}

u32 coll_ch_peer_ranks(const struct coll_channel *ch)
{
	const struct coll_group *g = ch->link.group;
	u32 i, n = 0;

	for (i = 0; i < g->size; i++)
		n += g->node_of[i] == ch->link.peer;
	return n;
}

/* The op it is about when a stream has ended: the oldest that runs, or the last one. */
static u64 coll_ch_now(const struct coll_channel *ch)
{
	const struct coll_group *g = ch->link.group;
	u64 ended = READ_ONCE(g->ended);

	return READ_ONCE(g->nr_running) ? ended + 1 : ended;
}

/*
 * The peer's streams close: that is in order after its last rank has left, if
 * no op or message needs them any more.
 */
void coll_ch_check_lost(struct coll_channel *ch)
{
	struct coll_stream *ctrl = coll_conn_stream(ch->conn, COLL_STRIPE_CTRL);
	struct coll_stream *data = coll_conn_stream(ch->conn, COLL_STRIPE_DATA);
	struct coll_group *g = ch->link.group;
	bool left;

	if (!(ctrl && ctrl->closed) && !(data && data->closed))
		return;
	left = ch->byes_got >= coll_ch_peer_ranks(ch);
	if (READ_ONCE(g->error) || (left && !ch->lost_seq && !ch->lost_msg))
		return;
	if (!left && ctrl && ctrl->closed)
		coll_ch_fail(ch, COLL_CAUSE_LINK, EHOSTDOWN, coll_ch_now(ch),
			     ctrl->error);
	else if (data && data->closed)
		queue_delayed_work(coll_alarm_wq, &ch->lost, COLL_LOST_GRACE);
}

static void coll_ch_lost(struct work_struct *work)
{
	struct coll_channel *ch = container_of(to_delayed_work(work),
					       struct coll_channel, lost);
	struct coll_group *g = ch->link.group;
	struct coll_stream *data = ch->conn->streams[COLL_STRIPE_DATA];
	u64 lost = READ_ONCE(ch->lost_seq);
	bool must, doomed;

	must = READ_ONCE(ch->byes_got) < coll_ch_peer_ranks(ch) ||
	       (READ_ONCE(ch->lost_msg) && coll_ch_talks(ch));
	spin_lock(&g->lock);
	doomed = g->doom.kind && lost >= g->doom.seq;
	spin_unlock(&g->lock);
	/* Ops before it may still end well, and one that can never be fails with them. */
	if (!must && !READ_ONCE(g->error) && (doomed || lost > coll_ch_now(ch)))
		queue_delayed_work(coll_alarm_wq, &ch->lost, COLL_LOST_GRACE);
	else if (must || READ_ONCE(g->ended) < lost)
		coll_ch_fail(ch, COLL_CAUSE_LINK, EHOSTDOWN, coll_ch_now(ch),
			     data->error);
}

static void coll_ch_kick(struct coll_link *link)
{
	coll_conn_kick(to_channel(link)->conn);
}

static void coll_ch_call(struct coll_link *link)
{
	coll_conn_queue(to_channel(link)->conn);
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

	return coll_ch_greeted(ch);
}

static u64 coll_ch_posted(const struct coll_link *link)
{
	return READ_ONCE(to_channel(link)->peer_seq);
}

static bool coll_ch_stat(const struct coll_link *link, u32 i,
			 struct coll_link_stat *s)
{
	const struct coll_channel *ch = to_channel(link);
	const struct coll_stream *st;

	if (i >= COLL_STRIPES)
		return false;
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
	if (ch->guest && !READ_ONCE(ch->greeted) && s->state == COLL_NL_LINK_STATE_UP)
		s->state = COLL_NL_LINK_STATE_GREETING;
	return true;
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
	/* It has said what it should not: it is not believed any more. */
	if (ch->guest && READ_ONCE(ch->greet.state) == COLL_GREET_REFUSED)
		return !READ_ONCE(ch->greet.hello_due);
	return coll_ch_greeted(ch);
}

/* Is there no frame of ours which only the peer's ABORT allows to end? */
static bool coll_ch_is_through(const struct coll_channel *ch)
{
	const struct coll_stream *data = coll_conn_stream(ch->conn, COLL_STRIPE_DATA);

	return !data || READ_ONCE(data->tx_ch) != ch || READ_ONCE(ch->deaf) ||
	       READ_ONCE(data->closed);
}

/* Does closing the streams no harm to what has been sent? See coll_ch_lingers(). */
static bool coll_ch_may_close(const struct coll_channel *ch)
{
	const struct coll_stream *data = coll_conn_stream(ch->conn, COLL_STRIPE_DATA);

	return !data || READ_ONCE(ch->deaf) || READ_ONCE(data->closed) ||
	       READ_ONCE(ch->conn->users) != 1 ||
	       skb_queue_empty_lockless(&data->sock->sk->sk_receive_queue);
}

static void coll_ch_flush(struct coll_link *link)
{
	coll_conn_flush(to_channel(link)->conn);
}

/*
 * What members have said last gets one try to leave, in coll_ch_flush(). All links of a
 * group wait together, from the same moment on.
 */
static bool coll_ch_lingers(const struct coll_link *link, bool hard)
{
	const struct coll_channel *ch = to_channel(link);
	unsigned long since = link->group->reaped;

	/* If the group has failed. */
	if (time_before(jiffies, since + COLL_TX_GRACE) && !coll_ch_is_through(ch))
		return true;
	if (!time_before(jiffies, since + coll_dead_after() * HZ))
		return false;
	/*
	 * The peer has begun an op that is none here, and may still be in one before it. To
	 * close with bytes unread would reset the stream, with what we have sent. It fails,
	 * and says so, when it is through, which over a slow link takes its time.
	 */
	if (!hard && !coll_ch_may_close(ch))
		return true;
	/*
	 * The peer is about to greet: with nobody here to answer, it would never hear that we
	 * have been, and gone, or why. Before it has proved that it knows the key it is told
	 * nothing.
	 */
	return !coll_ch_settled(ch);
}

static void coll_ch_free(struct coll_channel *ch)
{
	coll_desk_close(ch);
	coll_spill_free(&ch->aside);
	coll_sweep_free(ch->sweep);
	kfree(ch->piece);
	kfree(ch);
}

static void coll_ch_close(struct coll_link *link, bool hard)
{
	struct coll_channel *ch = to_channel(link);
	struct coll_conn *conn = ch->conn;

	/* The HELLO of a peer that has joined late is answered, and what follows is said. */
	if (ch->guest)
		coll_conn_flush(conn);
	coll_conn_leave(conn, ch, hard);
	cancel_delayed_work_sync(&ch->lost);
	/* The other end kicks the conn under the lock of the desk: the desk goes first. */
	coll_ch_free(ch);
	coll_conn_put(conn);
}

static const struct coll_link_ops coll_ch_ops = {
	.kick	= coll_ch_kick,
	.call	= coll_ch_call,
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
	ch->sweep = coll_sweep_alloc(g->nr_local, COLL_PARTIAL_MAX, true);
	if (!ch->sweep) {
		kfree(ch);
		return NULL;
	}
	ch->link.ops = &coll_ch_ops;
	ch->link.group = g;
	ch->link.peer = peer;
	ch->link.nr = nr;
	coll_greet_name(g->key, ch->name);
	ch->comm = coll_wire_comm(ch->name);
	coll_spill_init(&ch->aside, g->user, g->memcg);
	INIT_DELAYED_WORK(&ch->lost, coll_ch_lost);
	if (coll_desk_open(ch)) {
		coll_sweep_free(ch->sweep);
		kfree(ch);
		return NULL;
	}
	return ch;
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
	conn = coll_conn_alloc(&hello, g->key, g->epoch, g->user);
	if (IS_ERR(conn)) {
		coll_ch_free(ch);
		return ERR_CAST(conn);
	}
	ch->conn = conn;
	coll_conn_enter(conn, ch);
	return ch;
}

/*
 * A link to a peer, made if it is its first stream. One without streams, left
 * by a refused socket, does no harm: it is not connected, so no op uses it.
 */
static struct coll_channel *coll_ch_get(struct coll_group *g, u32 peer, u32 nr)
{
	struct coll_link *have = coll_group_link(g, peer, nr);
	struct coll_channel *ch;

	if (have)
		return to_channel(have);
	ch = coll_ch_alloc_own(g, peer, nr);
	if (IS_ERR(ch) || coll_group_add_link(&ch->link))
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
	return ch->guest ? -EEXIST : coll_conn_add(ch->conn, stripe % COLL_STRIPES, sock);
}

/* May the channel join? Under conn->lock. */
static int coll_ch_may_share(const struct coll_channel *ch,
			     const struct coll_conn *conn)
{
	const struct coll_channel *other;
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++) {
		const struct coll_stream *st = coll_conn_stream(conn, i);

		if (!st || st->closed || st->bad)
			return -ENOTCONN;
	}
	list_for_each_entry(other, &conn->channels, list)
		if (other->comm == ch->comm &&
		    other->link.group->epoch == ch->link.group->epoch)
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
	ch->guest = true;
	coll_greet_init(&ch->greet);
	ch->conn = conn;
	mutex_lock(&conn->lock);
	ret = coll_ch_may_share(ch, conn);
	if (!ret && !coll_group_add_link(&ch->link))
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
