// SPDX-License-Identifier: GPL-2.0

#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/sock.h>

#include "../core/group/account.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/p2p/messages.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "sock.h"
#include "wake.h"

bool coll_conn_complete(const struct coll_conn *conn)
{
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++)
		if (!coll_conn_stream(conn, i))
			return false;
	return true;
}

void coll_conn_hello(const struct coll_stream *st, struct coll_hello *h)
{
	*h = st->conn->hello;
	h->stripe += st->stripe;
	memcpy(h->nonce, st->greet.nonce, sizeof(h->nonce));
}

struct coll_conn *coll_conn_alloc(const struct coll_hello *hello, const u8 *key,
				  u32 epoch, struct coll_user *user, work_func_t pass)
{
	struct coll_conn *conn;

	if (!coll_user_add_conn(user))
		return ERR_PTR(-EMFILE);
	conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	if (!conn) {
		atomic_dec(&user->conns);
		return ERR_PTR(-ENOMEM);
	}
	conn->user = coll_user_hold(user);
	kref_init(&conn->ref);
	mutex_init(&conn->lock);
	INIT_LIST_HEAD(&conn->channels);
	INIT_LIST_HEAD(&conn->active);
	hash_init(conn->by_comm);
	coll_conn_wake_init(conn, pass);
	spin_lock_init(&conn->ubuf_lock);
	conn->choice.mode = COLL_NL_SEND_MODE_COPY;
	conn->hello = *hello;
	memcpy(conn->key, key, sizeof(conn->key));
	conn->comm = coll_wire_comm(hello->name);
	conn->epoch = epoch;
	conn->cred = get_current_cred();
	return conn;
}

static void coll_conn_free(struct kref *ref)
{
	struct coll_conn *conn = container_of(ref, struct coll_conn, ref);
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++)
		if (conn->streams[i])
			coll_stream_unhook(conn->streams[i]);
	/* Wait until the last ubuf has released the lock: it may be queueing the work. */
	spin_lock_irq(&conn->ubuf_lock);
	spin_unlock_irq(&conn->ubuf_lock);
	cancel_work_sync(&conn->work);
	cancel_delayed_work_sync(&conn->again);
	cancel_work_sync(&conn->work);
	for (i = 0; i < COLL_STRIPES; i++) {
		struct coll_stream *st = conn->streams[i];

		if (!st)
			continue;
		/* Only now: a pass that was queued before may have used the sockets until here. */
		coll_stream_disclaim(st);
		coll_sock_no_wait(st->sock->sk);
		/* Data of a failed op is of no use to anyone: drop it. */
		if (!conn->soft && i == COLL_STRIPE_DATA)
			sock_no_linger(st->sock->sk);
		/*
		 * A conn with streams is freed by the reaper of its user, a kernel thread, as
		 * __fput_sync() demands. fput() would leave the last put to a work item that the
		 * whole kernel shares. The put may wait: user space may have set SO_LINGER again.
		 */
		__fput_sync(st->sock->file);
		kfree_sensitive(st);
	}
	put_cred(conn->cred);
	atomic_dec(&conn->user->conns);
	coll_user_put(conn->user);
	kfree_sensitive(conn);
}

void coll_conn_put(struct coll_conn *conn)
{
	kref_put(&conn->ref, coll_conn_free);
}

void coll_conn_enter(struct coll_conn *conn, struct coll_channel *ch)
{
	if (conn->users)
		kref_get(&conn->ref);
	list_add_tail(&ch->list, &conn->channels);
	hash_add(conn->by_comm, &ch->by_comm, ch->comm);
	WRITE_ONCE(conn->users, conn->users + 1);
	conn->shared |= conn->users > 1;
}

static struct coll_stream *coll_stream_alloc(struct coll_conn *conn, u32 stripe,
					     struct socket *sock)
{
	struct coll_stream *st = kzalloc(sizeof(*st), GFP_KERNEL_ACCOUNT);

	if (!st)
		return NULL;
	st->conn = conn;
	st->stripe = stripe;
	st->sock = sock;
	st->rx_state = COLL_RX_HEADER;
	coll_greet_init(&st->greet);
	/* The nonce of the channel that the conn was made for: the peer finds its desk by it. */
	if (stripe == COLL_STRIPE_CTRL)
		memcpy(st->greet.nonce, conn->hello.nonce, sizeof(st->greet.nonce));
	return st;
}

static int coll_conn_add_locked(struct coll_conn *conn, u32 stripe,
				struct socket *sock)
{
	struct coll_stream *st;
	int ret;

	lockdep_assert_held(&conn->lock);
	if (conn->streams[stripe])
		return -EEXIST;
	st = coll_stream_alloc(conn, stripe, sock);
	if (!st)
		return -ENOMEM;
	ret = coll_stream_claim(st);
	if (ret) {
		kfree(st);
		return ret;
	}
	coll_sock_tune(sock->sk, stripe);
	/* pairs with coll_conn_stream() */
	smp_store_release(&conn->streams[stripe], st);
	coll_conn_queue(conn);
	return 0;
}

int coll_conn_add(struct coll_conn *conn, u32 stripe, struct socket *sock)
{
	int ret;

	mutex_lock(&conn->lock);
	ret = coll_conn_add_locked(conn, stripe, sock);
	mutex_unlock(&conn->lock);
	return ret;
}
