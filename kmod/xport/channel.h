/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Channels: the part of a conn that belongs to one group. To core a channel is its link.
 *
 * The channel of the group that handed the sockets over is established with them. A channel
 * that joins a conn later is shared: it has a handshake of its own (greet.h) on the control
 * stream. It may receive HELLO twice, because both sides may send first: a side that gets the
 * first HELLO after it has sent its own sends its own again. Before the peer has proved that it
 * knows the key the channel sends nothing else.
 *
 * DATA of a channel has a window, COLL_WIRE_WINDOW. It is taken in order: first the backlog,
 * then the stream. Each direction works for the oldest running op that has a transfer left
 * there. It goes on to the next op as soon as the op has none left. So ops follow each other on
 * the wire, and no op waits for other links or for the other direction.
 */
#ifndef COLL_XPORT_CHANNEL_H
#define COLL_XPORT_CHANNEL_H

#include "../core/group/link.h"
#include "../core/group/transport.h"
#include "../core/limits.h"
#include "../core/mem/sweep.h"
#include "../pure/wire.h"
#include "backlog.h"
#include "conn.h"
#include "loan.h"

struct coll_exec_step;
struct coll_op;

/* Where a channel is in its DATA. */
enum coll_ch_rx {
	COLL_CH_IDLE,		/* between frames */
	COLL_CH_MATCH,		/* has a header; which step is it for? */
	COLL_CH_PAYLOAD,	/* bytes go to the step's range */
};

/*
 * How long a peer may take to answer an ABORT. A live peer sends its own ABORT at once. An
 * acknowledgement by the peer's TCP does not prove that the peer has read ours: its reader may
 * be waiting for a page.
 */
#define COLL_TX_GRACE		HZ

/* Number of marks: see tx_ack.c. */
#define COLL_TX_MARKS	32

/**
 * struct coll_tx_mark - where a frame begins
 * @sent: DATA of the channel before it, as @tx_sent
 * @at: bytes of the stream before it
 * @zc: @tx_zc before it
 */
struct coll_tx_mark {
	u64 sent;
	u64 at;
	u64 zc;
};

/**
 * struct coll_channel - see the top of this file
 * @link: what core knows
 * @facts: of the group
 * @conn: the conn that it is on
 * @list: in conn->channels
 * @active: in conn->active
 * @by_comm: in conn->by_comm
 * @comm: communicator, as frames name it
 * @name: communicator, as HELLO names it
 * @shared: it has joined the conn of another group
 * @desk: loans to the other end, if that is in this kernel
 * @greet: if @shared: the handshake; else only the nonce, which is that of the control stream
 * @established: if @shared: the handshake is complete: the peer knows the key
 * @lost: delayed work: after the data stream has closed, the control stream has time to say why
 * @kin: the desk of the other end, referenced; NULL: the other end is in another kernel
 * @kin_sought: @kin has been looked for
 * @sweep: scratch of the work
 * @ops: during a pass over data: the running ops, oldest first, with a ref each
 * @nr_ops: number of @ops; 0 outside a pass over data
 * @rx_at: index in @ops: earlier ops have no transfer left to receive on the link
 * @tx_at: index in @ops: earlier ops have no transfer left to send on the link
 * @busy: the last passes had a running op or a message; see coll_conn_account_locked()
 * @rx_state: see enum coll_ch_rx
 * @rx_frame: the DATA frame that is being taken
 * @rx_left: payload bytes of @rx_frame still to take
 * @rx_op: the op that the frame is for, once there is room
 * @rx_step: the step that the frame is for, once there is room
 * @rx_carry: first bytes of an element that straddles fragments
 * @rx_carried: number of bytes in @rx_carry
 * @rx_seen: bytes of DATA that have come, headers included
 * @rx_done: bytes of @rx_seen that have been taken
 * @rx_told: bytes of @rx_done that have been acknowledged
 * @rx_ack_now: the peer waits for an ACK
 * @rx_lost: bytes could not be stored, because a rank is dying, or a loan was taken back. The
 *	group is about to fail: until then no bytes are taken, and no frame is found wrong.
 * @backlog: the rest of the frame that is being taken, then whole frames
 * @spilled: bytes that have ever been in @backlog
 * @piece: COLL_LOAN_PIECE bytes of scratch, for reading loans and for sending in a smaller type;
 *	NULL: not yet needed. No use relies on the content left by another.
 * @tx_msg_first: the last time, MSG was tried before DATA
 * @tx_op: the op whose frame is being sent
 * @tx_sent: bytes of DATA sent, headers included; a frame counts when it begins
 * @tx_acked: bytes of @tx_sent that the peer has consumed
 * @tx_asked: @tx_acked will be at least this when the last requested ACK has come
 * @tx_zc: of @tx_sent, payload bytes that do not go through the stream
 * @tx_marks: where some of its frames begin, the newest COLL_TX_MARKS
 * @tx_nr_marks: number of marks that have ever been made
 * @tx_doubt: @tx_acked seems to be ahead of what the stack has sent; @tx_doubt_since: jiffies
 * @tx_large: last op that sent large frames
 * @zc_op: op some of whose pages are sent without a copy, with a ref; or NULL
 * @zc_recalled: the pages have been recalled: no thread waits for the stack forever
 * @zc_since: jiffies when @zc_recalled was set; after COLL_TX_GRACE the stream is reset
 * @peer_rx_closed: the peer reads no DATA any more: it has failed, or left
 * @ubufs: number of sends whose pages the stack has not released
 * @ubufs_out: these sends, oldest first
 * @byes_sent: number of local ranks whose BYE has been sent
 * @byes: ranks of the peer whose BYE has come
 * @byes_got: number of @byes
 * @abort_got: the peer has sent its ABORT
 * @abort_sent: ABORT has been put into the control stream
 * @lost_seq: op that still needed the data stream when the stream was seen closed
 * @lost_msg: a message still needed the data stream then
 * @lost_soon: @lost has been queued with the short delay
 * @announced: last op that was announced to the peer (POST)
 * @peer_seq: last op that the peer has announced
 * @peer_sig: its signature
 */
struct coll_channel {
	struct coll_link link;

	/* Identity: constant once other threads can find the channel */
	struct coll_group_facts facts;
	struct coll_conn *conn;
	u64 comm;
	u8 name[COLL_WIRE_NAME];
	bool shared;
	struct coll_desk *desk;

	/*
	 * Lists, handshake and the channel of the other end: protected by conn->lock. Any thread
	 * may read @established.
	 */
	struct list_head list;
	struct list_head active;
	struct hlist_node by_comm;
	struct coll_greet greet;
	bool established;
	struct delayed_work lost;
	struct coll_desk *kin;
	bool kin_sought;

	/* Ops of this pass: protected by conn->lock */
	struct coll_sweep *sweep;
	struct coll_op *ops[COLL_RUNNING_MAX];
	u32 nr_ops;
	u32 rx_at;
	u32 tx_at;
	bool busy;

	/* Receive state: protected by conn->lock; @spilled is read by anyone */
	enum coll_ch_rx rx_state;
	struct coll_frame rx_frame;
	u32 rx_left;
	struct coll_op *rx_op;
	struct coll_exec_step *rx_step;
	u32 rx_carried;
	u8 rx_carry[COLL_PARTIAL_MAX];
	u64 rx_seen;
	u64 rx_done;
	u64 rx_told;
	bool rx_ack_now;
	bool rx_lost;
	struct coll_backlog backlog;
	u64 spilled;
	void *piece;

	/* Send state: protected by conn->lock */
	bool tx_msg_first;
	struct coll_op *tx_op;
	u64 tx_sent;
	u64 tx_acked;
	u64 tx_asked;
	u64 tx_zc;
	struct coll_tx_mark tx_marks[COLL_TX_MARKS];
	u64 tx_nr_marks;
	bool tx_doubt;
	unsigned long tx_doubt_since;
	u64 tx_large;

	/* Zerocopy: protected by conn->lock; @peer_rx_closed is read by anyone */
	struct coll_op *zc_op;
	bool zc_recalled;
	unsigned long zc_since;
	bool peer_rx_closed;

	/* Zerocopy: protected by conn->ubuf_lock, read by anyone */
	u32 ubufs;
	struct list_head ubufs_out;

	/*
	 * Control: protected by conn->lock; all but @byes_sent, @byes, @abort_sent, @announced and
	 * @peer_sig are read by anyone
	 */
	u32 byes_sent;
	DECLARE_BITMAP(byes, COLL_MAX_SIZE);
	u32 byes_got;
	bool abort_got;
	bool abort_sent;
	u64 lost_seq;
	bool lost_msg;
	bool lost_soon;
	u64 announced;
	u64 peer_seq;
	u64 peer_sig;
};

/* Has the group failed? Then bytes that still come are dropped. */
static inline bool coll_ch_failed(const struct coll_channel *ch)
{
	return coll_group_error(ch->link.group);
}

/* May DATA be sent, and taken? The peer has proved, on each stream, that it knows the key. */
static inline bool coll_ch_established(const struct coll_channel *ch)
{
	return (!ch->shared || READ_ONCE(ch->established)) && coll_conn_established(ch->conn);
}

/**
 * coll_ch_hello() - the HELLO of a group
 * @ch: its channel, on the control stream
 * @h: result
 */
void coll_ch_hello(const struct coll_channel *ch, struct coll_hello *h);

/* Does the channel expect bytes of a message? Does it have some to send? Either of the two? */
bool coll_ch_expects_msg(const struct coll_channel *ch);

bool coll_ch_owes(const struct coll_channel *ch);

bool coll_ch_talks(const struct coll_channel *ch);

/* Ranks of the peer. */
u32 coll_ch_peer_ranks(const struct coll_channel *ch);

/* The op that the end of a stream is reported for: the oldest running op, or the last ended one. */
u64 coll_ch_now(const struct coll_channel *ch);

/* Fail the group for what the peer sent (PROTO, MISMATCH) or did (LINK). */
void coll_ch_fail(struct coll_channel *ch, u32 kind, int error, u64 seq, u32 code);

/* The same, for work items of coll_alarm_wq: see coll_group_fail_soon(). */
void coll_ch_fail_soon(struct coll_channel *ch, u32 kind, int error, u64 seq, u32 code);

/* Fail the group because the peer sent wrong bytes (PROTO). */
void coll_ch_proto(struct coll_channel *ch, u64 seq);

/* The op that the channel receives for; NULL: there is none, or it is ending. In a pass. */
struct coll_op *coll_ch_receives(struct coll_channel *ch);

/* The op that the channel sends for; NULL: there is none, or it is ending. In a pass. */
struct coll_op *coll_ch_sends(struct coll_channel *ch);

#endif /* COLL_XPORT_CHANNEL_H */
