// SPDX-License-Identifier: GPL-2.0
#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/sock.h>

#include "../core/group/account.h"
#include "../core/group/group.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/p2p/messages.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "sock.h"
#include "tx.h"

/* Until memory for what is to be put aside is looked for again. */
#define COLL_AGAIN	(HZ / 50)

/* Threads, of workers and callers, that are at some conn. */
static atomic_t coll_conns_at_work;

static void coll_conn_wake(struct coll_conn *conn)
{
	queue_work(conn->user->wq, &conn->work);
}

void coll_conn_queue(struct coll_conn *conn)
{
	/* Work that runs and is queued wakes a second worker, which finds nothing to do. */
	if (READ_ONCE(conn->working)) {
		set_bit(COLL_CONN_URGENT, &conn->wanted);
		/* pairs with coll_conn_work(): one of us sees the other */
		smp_mb__after_atomic();
		if (READ_ONCE(conn->working))
			return;
	}
	coll_conn_wake(conn);
}

void coll_conn_flush(struct coll_conn *conn)
{
	/* Not by a note to work that runs: only what is queued is waited for. */
	coll_conn_wake(conn);
	flush_work(&conn->work);
}

/* A watcher may be held up, and that must be no matter to anybody but his collective. */
static bool coll_conn_is_common(const struct coll_conn *conn)
{
	return READ_ONCE(conn->users) != 1 || READ_ONCE(conn->talks);
}

/* Is somebody at work or does he attend, and so may see what is wanted? */
static bool coll_conn_attended(const struct coll_conn *conn)
{
	if (READ_ONCE(conn->working))
		return true;
	return READ_ONCE(conn->watcher) && !coll_conn_is_common(conn);
}

/*
 * Is it the watcher's, or has a worker to come? Data may wait for what is short, and where
 * CPUs are all in use.
 */
static bool coll_conn_may_wait(const struct coll_conn *conn, const struct coll_watcher *w,
			       bool urgent)
{
	const void *at = READ_ONCE(w->at);

	if (at == conn)
		return true;
	if (urgent)
		return wq_has_sleeper(w->wq);
	return !at || w->alone || atomic_read(&coll_conns_at_work) >= num_online_cpus();
}

/* What is wanted has been said. Return: the watcher is going to see it. */
static bool coll_conn_wake_watcher(struct coll_conn *conn, bool urgent)
{
	const struct coll_watcher *w;
	unsigned long flags;
	bool told;

	spin_lock_irqsave(&conn->watch_lock, flags);
	w = conn->watcher;
	told = w && !coll_conn_is_common(conn) && coll_conn_may_wait(conn, w, urgent);
	if (told && wq_has_sleeper(w->wq))
		wake_up(w->wq);
	spin_unlock_irqrestore(&conn->watch_lock, flags);
	return told;
}

/* Is there somebody who will see @why, and soon if it is @urgent? */
static bool coll_conn_tell(struct coll_conn *conn, int why, bool urgent)
{
	if (!coll_conn_attended(conn))
		return false;
	set_bit(why, &conn->wanted);
	/* pairs with coll_conn_work(): one of us sees the other */
	smp_mb__after_atomic();
	return READ_ONCE(conn->working) || coll_conn_wake_watcher(conn, urgent);
}

/*
 * Nobody attends to it any more, as others see by now: what has been wanted meanwhile is
 * for a worker. But what has come for an op not posted yet wakes nobody.
 */
static void coll_conn_hand_over(struct coll_conn *conn)
{
	if (test_and_clear_bit(COLL_CONN_DATA, &conn->wanted) && !READ_ONCE(conn->quiet))
		coll_conn_wake(conn);
	if (test_and_clear_bit(COLL_CONN_KICKED, &conn->wanted))
		coll_conn_wake(conn);
	if (test_and_clear_bit(COLL_CONN_URGENT, &conn->wanted))
		coll_conn_wake(conn);
}

void coll_conn_kick(struct coll_conn *conn)
{
	/* Before a pass looks at the socket: see coll_conn_data_ready(). */
	if (READ_ONCE(conn->quiet))
		WRITE_ONCE(conn->quiet, false);
	if (!coll_conn_tell(conn, COLL_CONN_KICKED, false))
		coll_conn_queue(conn);
}

void coll_conn_stir(struct coll_conn *conn)
{
	/* pairs with coll_conn_settle(): one of us sees the other */
	smp_mb();
	if (READ_ONCE(conn->quiet))
		coll_conn_kick(conn);
}

void coll_conn_data_ready(struct coll_conn *conn)
{
	/* The bytes are in the queue: who clears @quiet after this looks sees them. */
	smp_mb();
	if (!READ_ONCE(conn->quiet) && !coll_conn_tell(conn, COLL_CONN_DATA, false))
		coll_conn_queue(conn);
}

void coll_conn_ctrl_ready(struct coll_conn *conn)
{
	if (!coll_conn_tell(conn, COLL_CONN_URGENT, true))
		coll_conn_queue(conn);
}

bool coll_conn_complete(const struct coll_conn *conn)
{
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++)
		if (!coll_conn_stream(conn, i))
			return false;
	return true;
}

bool coll_conn_greeted(const struct coll_conn *conn)
{
	u32 i;

	for (i = 0; i < COLL_STRIPES; i++) {
		const struct coll_stream *st = coll_conn_stream(conn, i);

		if (!st || !READ_ONCE(st->greeted))
			return false;
	}
	return true;
}

void coll_conn_hello(const struct coll_stream *st, struct coll_hello *h)
{
	*h = st->conn->hello;
	h->stripe += st->stripe;
	memcpy(h->nonce, st->greet.nonce, sizeof(h->nonce));
}

void coll_conn_fail(struct coll_conn *conn, u64 seq)
{
	struct coll_channel *ch;

	list_for_each_entry(ch, &conn->channels, list)
		coll_ch_proto(ch, seq);
}

bool coll_conn_wanted(struct coll_conn *conn, const struct coll_channel *ch)
{
	struct coll_channel *other;

	/* Bytes of a message may also stand behind DATA of its own group. */
	list_for_each_entry(other, &conn->channels, list)
		if (coll_ch_expects_msg(other) ||
		    (other != ch && coll_ch_wants(other)))
			return true;
	return false;
}

/* Control: a lock-step of sending, reading, and sending what that has asked for. */
static bool coll_conn_ctrl(struct coll_stream *ctrl)
{
	bool more;

	coll_tx_ctrl(ctrl);
	more = coll_rx(ctrl);
	coll_tx_ctrl(ctrl);
	return more;
}

/* One pass over data, with what all running ops have and want. */
static bool coll_conn_data(struct coll_conn *conn, struct coll_stream *data)
{
	struct coll_channel *ch;
	bool more;

	list_for_each_entry(ch, &conn->channels, list)
		coll_ch_begin(ch);
	more = coll_tx_data(data);
	list_for_each_entry(ch, &conn->channels, list)
		more |= coll_ch_drain(ch);
	more |= coll_rx(data);
	/* What was received may be what is to be sent. */
	more |= coll_tx_data(data);
	list_for_each_entry(ch, &conn->channels, list)
		coll_ch_end(ch, data->closed && !more);
	return more;
}

/*
 * Who pays for a pass: groups with an op on it, in equal parts; all of them if there
 * was none.
 */
static void coll_conn_account(struct coll_conn *conn, u64 begin)
{
	u64 ns = ktime_get_ns() - begin;
	struct coll_channel *ch;
	u32 busy = 0;

	list_for_each_entry(ch, &conn->channels, list)
		busy += ch->busy;
	list_for_each_entry(ch, &conn->channels, list)
		if (ch->busy || !busy)
			coll_account_share(ch->link.group,
					   div_u64(ns, busy ?: conn->users));
}

/*
 * Does nobody want data? On a shared conn frames of one may stand before those of another,
 * so there they are looked at as they come. Under conn->lock, or a racy look.
 */
static bool coll_conn_is_quiet(const struct coll_conn *conn, const struct coll_channel *ch)
{
	if (READ_ONCE(conn->users) != 1 || READ_ONCE(conn->shared) || !coll_conn_greeted(conn))
		return false;
	return !READ_ONCE(ch->link.group->nr_running) &&
	       (ch->link.nr || !coll_msg_any(ch->link.group)) &&
	       !READ_ONCE(ch->lent) && !READ_ONCE(ch->link.group->error);
}

/*
 * What has come is for an op that has not been posted, as what is to come until then. Under
 * conn->lock, in a pass, or under conn->watch_lock, by who leaves.
 */
static void coll_conn_settle(struct coll_conn *conn, const struct coll_channel *ch)
{
	if (!coll_conn_is_quiet(conn, ch))
		return;
	/* Who wants data from here on sees it, and whom we see now may have missed some. */
	smp_store_mb(conn->quiet, true);
	if (!coll_conn_is_quiet(conn, ch)) {
		WRITE_ONCE(conn->quiet, false);
		set_bit(COLL_CONN_KICKED, &conn->wanted);
	}
}

/*
 * A caller that is being killed gives up on windows. That is no matter to the op it is in,
 * which fails with it; but another group's, or a message of another rank, would be lost.
 * Those are for the worker.
 */
static bool coll_conn_is_mine(const struct coll_conn *conn)
{
	const struct coll_channel *ch;

	ch = list_first_entry(&conn->channels, struct coll_channel, list);
	return conn->users == 1 && !coll_ch_talks(ch) && !fatal_signal_pending(current);
}

/*
 * Everything there is to do now, or that watcher @w may do; NULL: a worker. Under
 * conn->lock. Return: there is more.
 */
static bool coll_conn_pass(struct coll_conn *conn, const struct coll_watcher *w)
{
	struct coll_stream *ctrl = coll_conn_stream(conn, COLL_STRIPE_CTRL);
	struct coll_stream *data = coll_conn_stream(conn, COLL_STRIPE_DATA);
	struct coll_channel *ch;
	bool more = false, talks = false;

	/* pairs with coll_conn_data_ready(), coll_conn_settle() */
	smp_store_mb(conn->quiet, false);
	if (ctrl)
		more |= coll_conn_ctrl(ctrl);
	coll_tx_settle_doubts(conn);
	/* From here on bytes of a message may come that it has just accepted. */
	if (w && !coll_conn_is_mine(conn))
		return true;
	list_for_each_entry(ch, &conn->channels, list)
		coll_tx_reclaim(ch);
	if (data)
		more |= coll_conn_data(conn, data);
	if (ctrl && data)
		coll_tx_ctrl(ctrl);	/* ACK */
	list_for_each_entry(ch, &conn->channels, list) {
		coll_ch_check_lost(ch);
		talks |= coll_ch_talks(ch);
	}
	WRITE_ONCE(conn->talks, talks);
	ch = list_first_entry(&conn->channels, struct coll_channel, list);
	if (!more)
		coll_conn_settle(conn, ch);
	return more;
}

/*
 * Passes until there is nothing to do, or time is up, or what watcher @w waits for is over,
 * or it is not for a watcher to do; NULL: a worker. Return: there is more.
 */
static bool coll_conn_passes(struct coll_conn *conn, const struct coll_watcher *w)
{
	unsigned long end = jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1;
	const struct cred *cred = override_creds(conn->cred);
	struct coll_channel *ch;
	bool more;

	/* Any of the passes makes it so. */
	list_for_each_entry(ch, &conn->channels, list)
		ch->busy = false;
	atomic_inc(&coll_conns_at_work);
	do {
		/* A full barrier: what is wanted from here on is for the next pass. */
		xchg(&conn->wanted, 0);
		more = coll_conn_pass(conn, w);
	} while ((more || READ_ONCE(conn->wanted)) && time_before(jiffies, end) &&
		 (!w || (coll_conn_is_mine(conn) && !READ_ONCE(*w->done))));
	atomic_dec(&coll_conns_at_work);
	revert_creds(cred);
	return more;
}

static void coll_conn_work(struct work_struct *work)
{
	struct coll_conn *conn = container_of(work, struct coll_conn, work);
	struct coll_worker w;
	unsigned long wanted;
	bool more;

	coll_worker_begin(&w, conn->user);
	mutex_lock(&conn->lock);
	WRITE_ONCE(conn->working, true);
	more = coll_conn_passes(conn, NULL);
	coll_conn_account(conn, w.begin);
	if (more)
		set_bit(COLL_CONN_KICKED, &conn->wanted);
	/* pairs with coll_conn_tell() and coll_conn_queue() */
	smp_store_mb(conn->working, false);
	wanted = READ_ONCE(conn->wanted);
	if (wanted & BIT(COLL_CONN_URGENT) ||
	    (wanted && !coll_conn_wake_watcher(conn, false)))
		coll_conn_hand_over(conn);
	mutex_unlock(&conn->lock);
	coll_worker_end(&w);
}

bool coll_conn_watch(struct coll_conn *conn, struct coll_watcher *w)
{
	bool mine;

	spin_lock_irq(&conn->watch_lock);
	mine = !conn->watcher;
	if (mine)
		WRITE_ONCE(conn->watcher, w);
	spin_unlock_irq(&conn->watch_lock);
	return mine;
}

void coll_conn_unwatch(struct coll_channel *ch, struct coll_watcher *w)
{
	struct coll_conn *conn = ch->conn;
	bool mine;

	spin_lock_irq(&conn->watch_lock);
	mine = conn->watcher == w;
	if (mine) {
		WRITE_ONCE(conn->watcher, NULL);
		/* Before another one attends: not what he waits for is to be left. */
		if (!coll_conn_attended(conn))
			coll_conn_settle(conn, ch);
	}
	spin_unlock_irq(&conn->watch_lock);
	/* Who found us in time has said before what he wants; all others see we are gone. */
	if (mine && !coll_conn_attended(conn))
		coll_conn_hand_over(conn);
}

bool coll_conn_due(const struct coll_conn *conn, const struct coll_watcher *w)
{
	return READ_ONCE(conn->watcher) == w && READ_ONCE(conn->wanted) &&
	       !READ_ONCE(conn->working);
}

void coll_conn_attend(struct coll_conn *conn, struct coll_watcher *w)
{
	WRITE_ONCE(w->at, conn);
	if (mutex_lock_killable(&conn->lock)) {
		coll_conn_wake(conn);
		goto out;
	}
	if (coll_conn_is_mine(conn) && coll_conn_passes(conn, w))
		set_bit(COLL_CONN_KICKED, &conn->wanted);
	if (!coll_conn_is_mine(conn)) {
		xchg(&conn->wanted, 0);
		coll_conn_wake(conn);
	}
	mutex_unlock(&conn->lock);
out:
	WRITE_ONCE(w->at, NULL);
}

static void coll_conn_again(struct work_struct *work)
{
	coll_conn_kick(container_of(to_delayed_work(work), struct coll_conn, again));
}

void coll_conn_retry(struct coll_conn *conn)
{
	/* A pass after the last one has left: see coll_conn_free(). */
	if (READ_ONCE(conn->users))
		queue_delayed_work(conn->user->wq, &conn->again, COLL_AGAIN);
}

struct coll_conn *coll_conn_alloc(const struct coll_hello *hello, const u8 *key,
				  u32 epoch, struct coll_user *user)
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
	INIT_WORK(&conn->work, coll_conn_work);
	INIT_DELAYED_WORK(&conn->again, coll_conn_again);
	spin_lock_init(&conn->watch_lock);
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
			coll_stream_disclaim(conn->streams[i]);
	/* The ubuf that came back last may still be about to queue the work. */
	spin_lock_irq(&conn->ubuf_lock);
	spin_unlock_irq(&conn->ubuf_lock);
	cancel_work_sync(&conn->work);
	cancel_delayed_work_sync(&conn->again);
	cancel_work_sync(&conn->work);
	for (i = 0; i < COLL_STRIPES; i++) {
		struct coll_stream *st = conn->streams[i];

		if (!st)
			continue;
		/* Data of a failed op is of no use to anyone: drop it. */
		if (!conn->soft && i == COLL_STRIPE_DATA)
			sock_no_linger(st->sock->sk);
		sockfd_put(st->sock);
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
	WRITE_ONCE(conn->users, conn->users + 1);
	conn->shared |= conn->users > 1;
}

void coll_conn_leave(struct coll_conn *conn, struct coll_channel *ch, bool hard)
{
	u32 i;

	mutex_lock(&conn->lock);
	list_del(&ch->list);
	for (i = 0; i < COLL_STRIPES; i++) {
		struct coll_stream *st = conn->streams[i];

		if (st && st->rx_ch == ch)
			st->rx_ch = NULL;
		if (!st || st->tx_ch != ch)
			continue;
		/* The peer would take zeroes for data: see coll_tx_find(). */
		if (!ch->deaf)
			coll_tx_break_off(st);
		WRITE_ONCE(st->tx_ch, NULL);
	}
	coll_choice_leave(ch);
	conn->soft |= !hard;
	WRITE_ONCE(conn->users, conn->users - 1);
	/* Somebody may wait for what its frame stood in the way of. */
	coll_conn_queue(conn);
	mutex_unlock(&conn->lock);
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
	return st;
}

static int coll_conn_add_locked(struct coll_conn *conn, u32 stripe,
				struct socket *sock)
{
	struct coll_stream *st;
	int ret;

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
