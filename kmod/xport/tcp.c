// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../core/account.h"
#include "../core/exec.h"
#include "../core/group.h"
#include "../core/op.h"
#include "tcp.h"

/* Time a control stream has to explain why its data stream closed. */
#define COLL_LOST_GRACE	(HZ / 20)

static unsigned int dead_after = 10;
module_param(dead_after, uint, 0644);
MODULE_PARM_DESC(dead_after, "seconds without a sign of life after which a peer host counts as dead");

static struct coll_tcp_link *to_tcp(struct coll_link *link)
{
	return container_of(link, struct coll_tcp_link, link);
}

static struct coll_stream *coll_tcp_stream(const struct coll_tcp_link *tl, u32 i)
{
	/* pairs with the store in coll_tcp_add_locked() */
	return smp_load_acquire(&tl->streams[i]);
}

static void coll_tcp_kick(struct coll_link *link)
{
	queue_work(coll_wq, &to_tcp(link)->work);
}

/* Socket callbacks: softirq or process context. Only queue the work. */
static void coll_sk_kick(struct sock *sk)
{
	struct coll_stream *st;

	read_lock_bh(&sk->sk_callback_lock);
	st = sk->sk_user_data;
	if (st)
		coll_tcp_kick(&st->link->link);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void coll_sk_write_space(struct sock *sk)
{
	if (!sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	coll_sk_kick(sk);
}

/*
 * Nobody may slip a protocol of his own (TLS, a sockmap) between us and the
 * socket, save our callbacks, and call them when we are gone: a socket has one
 * upper layer protocol at most, and this is it. It is never registered, so it
 * cannot be asked for by name. And as it cannot be cloned, a claimed socket
 * cannot be made a listener.
 */
static struct tcp_ulp_ops coll_ulp __read_mostly = {
	.name	= "coll",
	.owner	= THIS_MODULE,
};

static int coll_ulp_claim(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	int ret = 0;

	lock_sock(sk);
	/* Once more: a listener would hand our callbacks to its children. */
	if (sk->sk_state != TCP_ESTABLISHED)
		ret = -ENOTCONN;
	else if (icsk->icsk_ulp_ops)
		ret = -EBUSY;
	else
		icsk->icsk_ulp_ops = &coll_ulp;
	release_sock(sk);
	return ret;
}

static void coll_ulp_disclaim(struct sock *sk)
{
	lock_sock(sk);
	inet_csk(sk)->icsk_ulp_ops = NULL;
	release_sock(sk);
}

/* Make the socket ours, or say that somebody else has it. */
static int coll_stream_claim(struct coll_stream *st)
{
	struct sock *sk = st->sock->sk;
	int ret;

	ret = coll_ulp_claim(sk);
	if (ret)
		return ret;
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		ret = -EBUSY;
		goto unlock;
	}
	st->saved_data_ready = sk->sk_data_ready;
	st->saved_write_space = sk->sk_write_space;
	st->saved_state_change = sk->sk_state_change;
	st->saved_error_report = sk->sk_error_report;
	sk->sk_user_data = st;
	sk->sk_data_ready = coll_sk_kick;
	sk->sk_write_space = coll_sk_write_space;
	sk->sk_state_change = coll_sk_kick;
	sk->sk_error_report = coll_sk_kick;
unlock:
	write_unlock_bh(&sk->sk_callback_lock);
	if (ret)
		coll_ulp_disclaim(sk);
	return ret;
}

static void coll_stream_disclaim(struct coll_stream *st)
{
	struct sock *sk = st->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = st->saved_data_ready;
	sk->sk_write_space = st->saved_write_space;
	sk->sk_state_change = st->saved_state_change;
	sk->sk_error_report = st->saved_error_report;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	coll_ulp_disclaim(sk);
}

void coll_tcp_fail(struct coll_tcp_link *tl, u32 kind, int error, u64 seq,
		   u32 code)
{
	struct coll_group *g = tl->link.group;
	struct coll_cause cause;

	coll_group_cause(g, &cause, kind, error, COLL_RANK_NONE, seq);
	cause.node = tl->link.peer;
	cause.code = code;
	coll_group_fail(g, &cause);
}

static u32 coll_ranks_of(const struct coll_group *g, u32 node)
{
	u32 i, n = 0;

	for (i = 0; i < g->size; i++)
		n += g->node_of[i] == node;
	return n;
}

/*
 * The peer's streams close: that is in order after its last rank has left, if
 * no op needs them any more.
 */
static void coll_tcp_check_lost(struct coll_tcp_link *tl,
				struct coll_stream *ctrl,
				struct coll_stream *data)
{
	struct coll_group *g = tl->link.group;
	bool left = tl->byes_got >= coll_ranks_of(g, tl->link.peer);

	if (READ_ONCE(g->error) || (left && !tl->lost_seq))
		return;
	if (!left && ctrl && ctrl->closed)
		coll_tcp_fail(tl, COLL_CAUSE_LINK, EHOSTDOWN, g->started,
			      ctrl->error);
	else if (data && data->closed)
		queue_delayed_work(coll_wq, &tl->lost, COLL_LOST_GRACE);
}

static void coll_tcp_lost(struct work_struct *work)
{
	struct coll_tcp_link *tl = container_of(to_delayed_work(work),
						struct coll_tcp_link, lost);
	struct coll_group *g = tl->link.group;
	struct coll_stream *data = tl->streams[COLL_STRIPE_DATA];

	if (READ_ONCE(tl->byes_got) < coll_ranks_of(g, tl->link.peer) ||
	    READ_ONCE(g->ended) < READ_ONCE(tl->lost_seq))
		coll_tcp_fail(tl, COLL_CAUSE_LINK, EHOSTDOWN, g->started,
			      data->error);
}

/* An op that the peer waits in is another one here: say so, or wait for ever. */
static void coll_tcp_check_post(struct coll_tcp_link *tl, const struct coll_op *op)
{
	if (tl->peer_seq == op->seq && tl->peer_sig != op->sig)
		coll_tcp_fail(tl, COLL_CAUSE_MISMATCH, EBADE, op->seq, 0);
}

static void coll_tcp_work(struct work_struct *work)
{
	struct coll_tcp_link *tl = container_of(work, struct coll_tcp_link, work);
	struct coll_stream *ctrl = coll_tcp_stream(tl, COLL_STRIPE_CTRL);
	struct coll_stream *data = coll_tcp_stream(tl, COLL_STRIPE_DATA);
	u64 begin = coll_account_begin();
	struct coll_op *op;
	bool more = false;

	if (ctrl) {
		coll_stream_tx_ctrl(ctrl);
		more |= coll_stream_rx(ctrl, NULL);
		coll_stream_tx_ctrl(ctrl);
	}
	if (data) {
		op = coll_op_active(tl->link.group);
		more |= coll_stream_tx_data(data, op);
		more |= coll_stream_rx(data, op);
		if (op) {
			coll_tcp_check_post(tl, op);
			/* What was received may be what is to be sent. */
			more |= coll_stream_tx_data(data, op);
			if (data->closed && !more && !coll_op_ending(op) &&
			    coll_exec_needs(op->exec, tl->link.peer))
				WRITE_ONCE(tl->lost_seq, op->seq);
			coll_op_put_use(op);
		}
	}
	coll_tcp_check_lost(tl, ctrl, data);
	coll_account_work(tl->link.group, begin);
	if (more)
		queue_work(coll_wq, &tl->work);
}

static bool coll_tcp_connected(const struct coll_link *link)
{
	const struct coll_tcp_link *tl =
		container_of(link, struct coll_tcp_link, link);
	u32 i;

	for (i = 0; i < COLL_TCP_STRIPES; i++)
		if (!coll_tcp_stream(tl, i))
			return false;
	return true;
}

static bool coll_tcp_ready(const struct coll_link *link)
{
	const struct coll_tcp_link *tl =
		container_of(link, struct coll_tcp_link, link);
	u32 i;

	for (i = 0; i < COLL_TCP_STRIPES; i++) {
		const struct coll_stream *st = coll_tcp_stream(tl, i);

		if (!st || !READ_ONCE(st->greeted))
			return false;
	}
	return true;
}

static u64 coll_tcp_posted(const struct coll_link *link)
{
	const struct coll_tcp_link *tl =
		container_of(link, struct coll_tcp_link, link);

	return READ_ONCE(tl->peer_seq);
}

static bool coll_tcp_stat(const struct coll_link *link, u32 i,
			  struct coll_link_stat *s)
{
	const struct coll_tcp_link *tl =
		container_of(link, struct coll_tcp_link, link);
	const struct coll_stream *st;

	if (i >= COLL_TCP_STRIPES)
		return false;
	st = coll_tcp_stream(tl, i);
	memset(s, 0, sizeof(*s));
	if (st)
		*s = st->stat;
	s->peer = link->peer;
	s->stripe = i;
	return true;
}

static void coll_tcp_close(struct coll_link *link, bool hard)
{
	struct coll_tcp_link *tl = to_tcp(link);
	u32 i;

	/* What members have said last gets one try to leave. */
	coll_tcp_kick(link);
	flush_work(&tl->work);
	for (i = 0; i < COLL_TCP_STRIPES; i++)
		if (tl->streams[i])
			coll_stream_disclaim(tl->streams[i]);
	cancel_work_sync(&tl->work);
	cancel_delayed_work_sync(&tl->lost);
	for (i = 0; i < COLL_TCP_STRIPES; i++) {
		struct coll_stream *st = tl->streams[i];

		if (!st)
			continue;
		/* Data of a failed op is of no use to anyone: drop it. */
		if (hard && i == COLL_STRIPE_DATA)
			sock_no_linger(st->sock->sk);
		sockfd_put(st->sock);
		kfree(st);
	}
	coll_sweep_free(tl->sweep);
	kfree(tl);
}

static const struct coll_link_ops coll_tcp_ops = {
	.kick	= coll_tcp_kick,
	.connected = coll_tcp_connected,
	.ready	= coll_tcp_ready,
	.posted	= coll_tcp_posted,
	.stat	= coll_tcp_stat,
	.close	= coll_tcp_close,
};

static struct coll_tcp_link *coll_tcp_alloc(struct coll_group *g, u32 peer)
{
	struct coll_tcp_link *tl = kzalloc(sizeof(*tl), GFP_KERNEL_ACCOUNT);

	if (!tl)
		return NULL;
	tl->sweep = coll_sweep_alloc(g->nr_local, COLL_PARTIAL_MAX);
	if (!tl->sweep) {
		kfree(tl);
		return NULL;
	}
	tl->link.ops = &coll_tcp_ops;
	tl->link.group = g;
	tl->link.peer = peer;
	mutex_init(&tl->setup);
	INIT_WORK(&tl->work, coll_tcp_work);
	INIT_DELAYED_WORK(&tl->lost, coll_tcp_lost);
	return tl;
}

/*
 * The link to a peer, made if it is the first stream. One without streams, left
 * by a refused socket, does no harm: it is not connected, so no op uses it.
 */
static struct coll_tcp_link *coll_tcp_get(struct coll_group *g, u32 peer)
{
	struct coll_link *have = coll_group_link(g, peer);
	struct coll_tcp_link *tl;

	if (have)
		return to_tcp(have);
	tl = coll_tcp_alloc(g, peer);
	if (!tl)
		return NULL;
	spin_lock(&g->lock);
	have = g->links[peer];
	if (!have)
		/* pairs with coll_group_link() */
		smp_store_release(&g->links[peer], &tl->link);
	spin_unlock(&g->lock);
	if (have) {
		coll_sweep_free(tl->sweep);
		kfree(tl);
		return to_tcp(have);
	}
	return tl;
}

/* Only plain, established TCP over IP: that is all we read and write. */
static int coll_tcp_check_sock(const struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (sk->sk_family != AF_INET && sk->sk_family != AF_INET6)
		return -EPROTOTYPE;
	if (sk->sk_type != SOCK_STREAM || sk->sk_protocol != IPPROTO_TCP)
		return -EPROTOTYPE;
	if (READ_ONCE(sk->sk_state) != TCP_ESTABLISHED)
		return -ENOTCONN;
	return 0;
}

static void coll_tcp_tune(struct sock *sk, u32 stripe)
{
	unsigned int sec = clamp(READ_ONCE(dead_after), 2U, 3600U);

	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, max(sec / 2, 1U));
	tcp_sock_set_keepintvl(sk, max(sec / 10, 1U));
	tcp_sock_set_keepcnt(sk, 5);
	/*
	 * Not on data: a peer that computes leaves the window shut for long,
	 * and TCP would take that for death. Control is always read.
	 */
	if (stripe == COLL_STRIPE_CTRL)
		tcp_sock_set_user_timeout(sk, sec * MSEC_PER_SEC);
}

static struct coll_stream *coll_stream_alloc(struct coll_tcp_link *tl, u32 stripe,
					     struct socket *sock)
{
	struct coll_stream *st = kzalloc(sizeof(*st), GFP_KERNEL_ACCOUNT);

	if (!st)
		return NULL;
	st->link = tl;
	st->stripe = stripe;
	st->sock = sock;
	st->rx_state = COLL_RX_HEADER;
	return st;
}

static int coll_tcp_add_locked(struct coll_tcp_link *tl, u32 stripe,
			       struct socket *sock)
{
	struct coll_stream *st;
	int ret;

	if (tl->streams[stripe])
		return -EEXIST;
	st = coll_stream_alloc(tl, stripe, sock);
	if (!st)
		return -ENOMEM;
	ret = coll_stream_claim(st);
	if (ret) {
		kfree(st);
		return ret;
	}
	coll_tcp_tune(sock->sk, stripe);
	/* pairs with coll_tcp_stream() */
	smp_store_release(&tl->streams[stripe], st);
	coll_tcp_kick(&tl->link);
	return 0;
}

static int coll_tcp_add(struct coll_group *g, u32 peer, int fd, u32 stripe)
{
	struct coll_tcp_link *tl;
	struct socket *sock;
	int ret;

	if (stripe >= COLL_TCP_STRIPES)
		return -EOPNOTSUPP;
	sock = sockfd_lookup(fd, &ret);
	if (!sock)
		return ret;
	ret = coll_tcp_check_sock(sock);
	if (ret)
		goto put;
	tl = coll_tcp_get(g, peer);
	if (!tl) {
		ret = -ENOMEM;
		goto put;
	}
	mutex_lock(&tl->setup);
	ret = coll_tcp_add_locked(tl, stripe, sock);
	mutex_unlock(&tl->setup);
	if (ret)
		goto put;
	return 0;

put:
	sockfd_put(sock);
	return ret;
}

const struct coll_transport coll_tcp_transport = {
	.add	= coll_tcp_add,
};
