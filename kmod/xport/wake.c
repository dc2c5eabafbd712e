// SPDX-License-Identifier: GPL-2.0
/* Waking and polling; see wake.h. */
#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <net/sock.h>

#include "../core/group/account.h"
#include "../core/group/transport.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/p2p/messages.h"
#include "../core/worker.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "sock.h"
#include "wake.h"

/* Time until the work tries again after memory was short. */
#define COLL_AGAIN	(HZ / 50)

void coll_conn_queue_pass(struct coll_conn *conn)
{
	queue_work(conn->user->wq, &conn->work);
}

void coll_conn_queue(struct coll_conn *conn)
{
	/* Queueing work that runs would wake a second worker, which finds nothing to do. */
	if (READ_ONCE(conn->working)) {
		/* pairs with the xchg() of a pass: if it takes the bit, it sees the event */
		smp_mb__before_atomic();
		set_bit(COLL_CONN_URGENT, &conn->wanted);
		/* pairs with coll_conn_poll_end(): it sees the bit, or we see !->working */
		smp_mb__after_atomic();
		coll_user_hurry_soon(conn->user);
		if (READ_ONCE(conn->working))
			return;
	}
	coll_conn_queue_pass(conn);
}

void coll_conn_alert(struct coll_conn *conn)
{
	/* pairs with the xchg() of a pass: if it takes the bit, it sees the event */
	smp_mb__before_atomic();
	set_bit(COLL_CONN_ALERT, &conn->wanted);
	/* The work may have begun at nice 19, and wait for a CPU before it sets ->working. */
	coll_user_hurry_soon(conn->user);
	coll_conn_queue(conn);
}

void coll_conn_flush(struct coll_conn *conn)
{
	/* Queue it even if it runs: flush_work() does not wait for the pass that a note causes. */
	coll_conn_queue_pass(conn);
	flush_work(&conn->work);
}

/* A delayed watcher may delay its own collective only. Is other traffic on the conn? */
static bool coll_conn_is_common(const struct coll_conn *conn)
{
	return READ_ONCE(conn->users) != 1 || READ_ONCE(conn->talks);
}

/* Is there a worker or a watcher that will see ->wanted? */
static bool coll_conn_attended(const struct coll_conn *conn)
{
	if (READ_ONCE(conn->working))
		return true;
	return READ_ONCE(conn->watcher) && !coll_conn_is_common(conn);
}

/*
 * May the event wait for the watcher, so that no worker is queued? Data may wait if the op of
 * the watcher is short, or if the polled conns of the user are as many as the CPUs.
 */
static bool coll_conn_may_wait(const struct coll_conn *conn, const struct coll_watcher *w,
			       bool urgent)
{
	const void *at = READ_ONCE(w->at);

	if (at == conn)
		return true;
	if (urgent)
		return wq_has_sleeper(w->wq);
	return !at || w->alone || atomic_read(&conn->user->polled) >= num_online_cpus();
}

/* ->wanted has been set. Return: the watcher is going to see it. */
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

/* Will a worker or a watcher see @why, and soon if it is @urgent? */
static bool coll_conn_tell(struct coll_conn *conn, int why, bool urgent)
{
	if (!coll_conn_attended(conn))
		return false;
	/* pairs with the xchg() of a pass: if it takes the bit, it sees the event */
	smp_mb__before_atomic();
	set_bit(why, &conn->wanted);
	/* pairs with coll_conn_poll_end(): it sees the bit, or we see !->working */
	smp_mb__after_atomic();
	if (urgent)
		coll_user_hurry_soon(conn->user);
	return READ_ONCE(conn->working) || coll_conn_wake_watcher(conn, urgent);
}

/*
 * The work or the watcher has stopped, and other threads see that. Queue the work for events that
 * were noted meanwhile, but not for data of an op that has not been posted.
 */
static void coll_conn_hand_over(struct coll_conn *conn)
{
	if (test_and_clear_bit(COLL_CONN_DATA, &conn->wanted) && !READ_ONCE(conn->rx_idle))
		coll_conn_queue_pass(conn);
	if (test_and_clear_bit(COLL_CONN_KICKED, &conn->wanted))
		coll_conn_queue_pass(conn);
	if (test_and_clear_bit(COLL_CONN_URGENT, &conn->wanted))
		coll_conn_queue_pass(conn);
}

void coll_conn_kick(struct coll_conn *conn)
{
	/* Clear it before a pass looks at the socket: see coll_conn_data_ready(). */
	if (READ_ONCE(conn->rx_idle))
		WRITE_ONCE(conn->rx_idle, false);
	if (!coll_conn_tell(conn, COLL_CONN_KICKED, false))
		coll_conn_queue(conn);
}

void coll_conn_stir(struct coll_conn *conn)
{
	/* pairs with coll_conn_settle(): it sees the receive or probe, or we see ->rx_idle */
	smp_mb();
	if (READ_ONCE(conn->rx_idle))
		coll_conn_kick(conn);
}

void coll_conn_data_ready(struct coll_conn *conn)
{
	/*
	 * The bytes are in the queue. Pairs with coll_conn_poll(): we see !->rx_idle, or the pass
	 * that clears ->rx_idle sees the bytes.
	 */
	smp_mb();
	if (!READ_ONCE(conn->rx_idle) && !coll_conn_tell(conn, COLL_CONN_DATA, false))
		coll_conn_queue(conn);
}

void coll_conn_ctrl_ready(struct coll_conn *conn)
{
	if (!coll_conn_tell(conn, COLL_CONN_URGENT, true))
		coll_conn_queue(conn);
}

/*
 * Does no op want data? On a shared conn a frame of one channel may block those of another, so
 * frames are read as they come there. Under conn->lock, or a racy check.
 */
static bool coll_conn_is_rx_idle(const struct coll_conn *conn, const struct coll_channel *ch)
{
	if (READ_ONCE(conn->users) != 1 || READ_ONCE(conn->shared) || !coll_conn_established(conn))
		return false;
	return coll_group_is_idle(ch->link.group) &&
	       (ch->link.nr || !coll_msg_any(ch->link.group)) &&
	       !READ_ONCE(ch->zc_op) && !coll_group_error(ch->link.group);
}

void coll_conn_settle(struct coll_conn *conn, const struct coll_channel *ch)
{
	if (!coll_conn_is_rx_idle(conn, ch))
		return;
	/*
	 * A thread that wants data after this sees ->rx_idle. The second check sees a thread that
	 * wanted data before this, and may have missed an event.
	 */
	smp_store_mb(conn->rx_idle, true);
	if (!coll_conn_is_rx_idle(conn, ch)) {
		WRITE_ONCE(conn->rx_idle, false);
		set_bit(COLL_CONN_KICKED, &conn->wanted);
	}
}

void coll_conn_poll_begin(struct coll_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(conn->working, true);
}

bool coll_conn_poll(struct coll_conn *conn)
{
	unsigned long was;

	lockdep_assert_held(&conn->lock);
	/* A full barrier: events noted from here on are for the next pass. */
	was = xchg(&conn->wanted, 0);
	/* pairs with coll_conn_data_ready(), coll_conn_settle() */
	smp_store_mb(conn->rx_idle, false);
	return was & BIT(COLL_CONN_ALERT);
}

void coll_conn_note_more(struct coll_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	set_bit(COLL_CONN_KICKED, &conn->wanted);
}

void coll_conn_poll_end(struct coll_conn *conn, bool more)
{
	unsigned long wanted;

	lockdep_assert_held(&conn->lock);
	if (more)
		coll_conn_note_more(conn);
	/* pairs with coll_conn_tell() and coll_conn_queue() */
	smp_store_mb(conn->working, false);
	wanted = READ_ONCE(conn->wanted);
	if (wanted & BIT(COLL_CONN_URGENT) ||
	    (wanted && !coll_conn_wake_watcher(conn, false)))
		coll_conn_hand_over(conn);
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
		/* Under the lock: no other watcher may come first, and lose its data. */
		if (!coll_conn_attended(conn))
			coll_conn_settle(conn, ch);
	}
	spin_unlock_irq(&conn->watch_lock);
	/* Threads that saw this watcher have set ->wanted. Others see that it has left. */
	if (mine && !coll_conn_attended(conn))
		coll_conn_hand_over(conn);
}

bool coll_conn_due(const struct coll_conn *conn, const struct coll_watcher *w)
{
	/* For an alert the work is queued in any case. */
	return READ_ONCE(conn->watcher) == w &&
	       READ_ONCE(conn->wanted) & ~BIT(COLL_CONN_ALERT) && !READ_ONCE(conn->working);
}

static void coll_conn_again(struct work_struct *work)
{
	coll_conn_kick(container_of(to_delayed_work(work), struct coll_conn, again));
}

void coll_conn_wake_init(struct coll_conn *conn, work_func_t pass)
{
	INIT_WORK(&conn->work, pass);
	INIT_DELAYED_WORK(&conn->again, coll_conn_again);
	spin_lock_init(&conn->watch_lock);
}

void coll_conn_retry(struct coll_conn *conn)
{
	/* A pass after the last channel has left must not queue it: see coll_conn_free(). */
	if (READ_ONCE(conn->users))
		queue_delayed_work(conn->user->wq, &conn->again, COLL_AGAIN);
}
