/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waking and polling: which thread looks at a connection next, and how it learns that there is
 * something to do. pass.c does it.
 *
 * A connection is looked at by a worker (conn->work), or by the caller that attends to it
 * (conn->watcher). This table says what each event does:
 *
 *   state                                    kick     data     control  queue
 *   idle: not ->working, no watcher          queue    queue    queue    queue
 *   working: ->working                       note     note     note     note
 *   watched: the caller looks here           note, and the caller is     queue
 *                                            woken if it sleeps
 *   watched: the caller is at another        note, or queue if a   queue    queue
 *     connection                             CPU is free
 *   rx idle: as above, and ->rx_idle         as above nothing  as above as above
 *                                            ->rx_idle ends
 *
 *   queue: the work is queued; note: a bit in ->wanted says why.
 *
 * Invariants
 * - A note is never missed. A poller clears ->wanted (coll_conn_poll()) before it looks at the
 *   sockets, and looks at ->wanted again after it has cleared ->working or ->watcher. The thread
 *   with the event sets the bit first, and looks at ->working and ->watcher after that. Both
 *   sides have a full barrier between the two.
 * - ->working and the sockets are only touched under conn->lock.
 * - ->rx_idle is set only if no op wants data. A thread that wants data clears it by a kick
 *   before it counts on data.
 * - A connection with more than one channel, or with messages, is looked at by workers only.
 */
#ifndef COLL_XPORT_WAKE_H
#define COLL_XPORT_WAKE_H

#include <linux/workqueue.h>

struct coll_channel;
struct coll_conn;
struct coll_watcher;

/* --- there is something to do: any context ------------------------------------------- */

/* Something that a step waits for has changed: tell the work, or the caller that attends. */
void coll_conn_kick(struct coll_conn *conn);

/* A receive or a probe waits for messages: end ->rx_idle. See struct coll_link_ops. */
void coll_conn_stir(struct coll_conn *conn);

/* Data has come. */
void coll_conn_data_ready(struct coll_conn *conn);

/* Control frames have come. They do not wait for a caller that is at another connection. */
void coll_conn_ctrl_ready(struct coll_conn *conn);

/* Queue the work, also while a caller attends. */
void coll_conn_queue(struct coll_conn *conn);

/*
 * The same, and a group has failed, or a rank has left. The next pass first sends control frames, at
 * normal priority however much worker time the user has spent. If the socket is full, the rest
 * follows within the allowance.
 */
void coll_conn_alert(struct coll_conn *conn);

/* Queue the work, also if it runs: a pass follows that begins after this. */
void coll_conn_queue_pass(struct coll_conn *conn);

/* Queue the work a little later: memory was short. */
void coll_conn_retry(struct coll_conn *conn);

/* Wait for a pass that begins after this. Sleeps. */
void coll_conn_flush(struct coll_conn *conn);

/* --- polling: under conn->lock ------------------------------------------------------- */

/* The work begins: events are notes from here on. */
void coll_conn_poll_begin(struct coll_conn *conn);

/*
 * A pass begins: clear ->wanted and ->rx_idle. The pass sees all events so far. Return: one of them
 * is coll_conn_alert().
 */
bool coll_conn_poll(struct coll_conn *conn);

/* The pass has left something to do. */
void coll_conn_note_more(struct coll_conn *conn);

/**
 * coll_conn_poll_end() - the work ends
 * @conn: connection
 * @more: there is more to do
 *
 * Events noted meanwhile go to the caller that attends, or the work is queued again.
 */
void coll_conn_poll_end(struct coll_conn *conn, bool more);

/**
 * coll_conn_settle() - set ->rx_idle if no op wants data
 * @conn: connection
 * @ch: its only channel
 *
 * Then all data, in the socket or still to come, is for an op that has not been posted.
 * A pass that ends holds conn->lock; a caller that leaves holds conn->watch_lock.
 */
void coll_conn_settle(struct coll_conn *conn, const struct coll_channel *ch);

/* --- callers that attend; see struct coll_link_ops ------------------------------------- */

bool coll_conn_watch(struct coll_conn *conn, struct coll_watcher *w);
void coll_conn_unwatch(struct coll_channel *ch, struct coll_watcher *w);
bool coll_conn_due(const struct coll_conn *conn, const struct coll_watcher *w);

/**
 * coll_conn_wake_init() - prepare a connection that no other thread knows yet
 * @conn: connection
 * @pass: function of the work, which does the passes
 */
void coll_conn_wake_init(struct coll_conn *conn, work_func_t pass);

#endif /* COLL_XPORT_WAKE_H */
