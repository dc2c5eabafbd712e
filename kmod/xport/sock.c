// SPDX-License-Identifier: GPL-2.0
/* Sockets that user space hands over: what is accepted, claimed and tuned. */
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/user_namespace.h>
#include <net/inet_connection_sock.h>
#include <net/dst.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "conn.h"
#include "sock.h"
#include "wake.h"

static unsigned int dead_after = 10;
module_param(dead_after, uint, 0644);
MODULE_PARM_DESC(dead_after, "seconds without a sign of life after which a peer host counts as dead");

unsigned int coll_dead_after(void)
{
	return clamp(READ_ONCE(dead_after), 2U, 3600U);
}

/* Only plain, established TCP over IP: that is all we read and write. */
int coll_sock_check(const struct socket *sock)
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

void coll_sock_no_wait(struct sock *sk)
{
	lock_sock(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	release_sock(sk);
}

/* A device that is hardware, or passes packets on to its lower devices only. */
static bool coll_dev_is_plain(struct net_device *dev)
{
	return dev->dev.parent || dev->flags & IFF_LOOPBACK || is_vlan_dev(dev) ||
	       netif_is_bond_master(dev) || netif_is_team_master(dev);
}

static int coll_dev_is_odd(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return !coll_dev_is_plain(dev);
}

bool coll_sock_is_direct(struct sock *sk)
{
	struct netdev_nested_priv priv = { };
	struct dst_entry *dst;
	bool direct = false;

	if (sock_net(sk)->user_ns != &init_user_ns)
		return false;
	rcu_read_lock();
	dst = __sk_dst_get(sk);
	if (dst)
		direct = coll_dev_is_plain(dst->dev) &&
			 !netdev_walk_all_lower_dev_rcu(dst->dev, coll_dev_is_odd, &priv);
	rcu_read_unlock();
	return direct;
}

bool coll_sock_is_confirmed(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return READ_ONCE(tp->snd_una) == READ_ONCE(tp->write_seq) ||
	       READ_ONCE(sk->sk_state) == TCP_CLOSE;
}

void coll_sock_tune(struct sock *sk, u32 stripe)
{
	unsigned int sec = coll_dead_after();

	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, max(sec / 2, 1U));
	tcp_sock_set_keepintvl(sk, max(sec / 10, 1U));
	tcp_sock_set_keepcnt(sk, 5);
	/*
	 * Only on the control stream, which the peer always reads. On the data stream a peer that
	 * computes leaves the window shut for long, and TCP would take the peer for dead.
	 */
	if (stripe == COLL_STRIPE_CTRL)
		tcp_sock_set_user_timeout(sk, sec * MSEC_PER_SEC);
}

/*
 * Socket callbacks: softirq or process context. They only queue the work, or wake the caller
 * that attends. The work handles the end of a stream.
 */
static void coll_sk_state(struct sock *sk)
{
	struct coll_stream *st;

	read_lock_bh(&sk->sk_callback_lock);
	st = sk->sk_user_data;
	if (st)
		coll_conn_queue(st->conn);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void coll_sk_data_ready(struct sock *sk)
{
	struct coll_stream *st;

	read_lock_bh(&sk->sk_callback_lock);
	st = sk->sk_user_data;
	if (st && st->stripe == COLL_STRIPE_DATA)
		coll_conn_data_ready(st->conn);
	else if (st)
		coll_conn_ctrl_ready(st->conn);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void coll_sk_write_space(struct sock *sk)
{
	struct coll_stream *st;

	if (!sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	read_lock_bh(&sk->sk_callback_lock);
	st = sk->sk_user_data;
	if (st)
		coll_conn_kick(st->conn);
	read_unlock_bh(&sk->sk_callback_lock);
}

/*
 * Keeps other protocols (TLS, a sockmap) off the socket: they would save our
 * callbacks, and call them after we have gone. A socket has at most one upper
 * layer protocol, and this is it. It is never registered, so user space cannot
 * ask for it by name. It cannot be cloned, so a claimed socket cannot become a
 * listener.
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
	/* Check again under the lock: a listener would hand our callbacks to its children. */
	if (sk->sk_state != TCP_ESTABLISHED)
		ret = -ENOTCONN;
	else if (icsk->icsk_ulp_ops)
		ret = -EBUSY;
	else
		icsk->icsk_ulp_ops = &coll_ulp;
	release_sock(sk);
	return ret;
}

/*
 * getsockopt(TCP_ULP) reads the pointer twice without a lock, and may find NULL the second time. On
 * x86 copy_to_user() returns -EFAULT then.
 */
static void coll_ulp_disclaim(struct sock *sk)
{
	lock_sock(sk);
	inet_csk(sk)->icsk_ulp_ops = NULL;
	release_sock(sk);
}

int coll_stream_claim(struct coll_stream *st)
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
	/* With a larger SO_RCVLOWAT of the user, few bytes would not call data_ready. */
	st->saved_rcvlowat = sk->sk_rcvlowat;
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	sk->sk_user_data = st;
	sk->sk_data_ready = coll_sk_data_ready;
	sk->sk_write_space = coll_sk_write_space;
	sk->sk_state_change = coll_sk_state;
	sk->sk_error_report = coll_sk_state;
unlock:
	write_unlock_bh(&sk->sk_callback_lock);
	if (ret)
		coll_ulp_disclaim(sk);
	return ret;
}

void coll_stream_unhook(struct coll_stream *st)
{
	struct sock *sk = st->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = st->saved_data_ready;
	sk->sk_write_space = st->saved_write_space;
	sk->sk_state_change = st->saved_state_change;
	sk->sk_error_report = st->saved_error_report;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

void coll_stream_disclaim(struct coll_stream *st)
{
	struct sock *sk = st->sock->sk;

	WRITE_ONCE(sk->sk_rcvlowat, st->saved_rcvlowat);
	coll_ulp_disclaim(sk);
}
