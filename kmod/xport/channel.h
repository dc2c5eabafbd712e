/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Channels: the part of a conn that belongs to one group. To core a channel is its link.
 *
 * The channel of the group that handed the sockets over is established with them. A channel
 * that joins a conn later is shared: it has a handshake of its own (greet.h) on the control
 * stream. It may receive HELLO twice, because both sides may send first: a side that gets the
 * first HELLO after it has sent its own sends it again. Before the peer has proved that it
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
 * How long a peer may take to answer an ABORT: one that lives does so at once, with its
 * own. That its TCP has ours says nothing of who reads there, who may just be waiting for
 * a page.
 */
#define COLL_TX_GRACE		HZ

/* Places in the stream that are known: see tx_ack.c. */
#define COLL_TX_MARKS	32

/**
 * struct coll_tx_mark - where a frame begins
 * @sent: DATA of the channel before it, as @tx_sent
 * @at: bytes of the stream before it
 * @zc: @tx_zc then
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
 * @conn: what it is a channel of
 * @list: in conn->channels
 * @by_comm: in conn->by_comm
 * @comm: communicator, as frames name it
 * @name: communicator, as HELLO names it
 * @shared: it has joined the conn of another group
 * @desk: what is lent to the other end in this kernel
 * @greet: @shared: the handshake
 * @established: @shared: the handshake is complete: the peer knows the key
 * @lost: a data stream has closed: gives the control stream a moment to say why
 * @kin: the desk of the other end, referenced; NULL: that is in another kernel
 * @kin_sought: @kin has been looked for
 * @sweep: scratch of the work
 * @ops: the running ops with a ref each, oldest first, while the work is with data
 * @nr_ops: number of @ops; else 0
 * @rx_at: index in @ops: the ones before have no transfer left that comes by the link
 * @tx_at: index in @ops: the ones before have no transfer left that goes by the link
 * @busy: there was one in the last pass
 * @rx_state: see enum coll_ch_rx
 * @rx_frame: the DATA frame that is being taken
 * @rx_left: bytes of its payload still to take
 * @rx_op: the op it is for, once there is room
 * @rx_step: the step it is for, once there is room
 * @rx_carry: first bytes of an element that straddles fragments
 * @rx_carried: number of bytes in @rx_carry
 * @rx_seen: bytes of DATA that have come, headers included
 * @rx_done: of these, taken
 * @rx_told: of these, acknowledged
 * @rx_ack_now: the peer waits for an ACK
 * @rx_lost: bytes could not be stored, because a rank is dying. Nothing more is taken, and
 *	nothing is held against the frames that follow, until the death fails the group.
 * @backlog: the rest of the frame that is being taken, then whole frames
 * @spilled: bytes that have ever been in @backlog
 * @piece: COLL_LOAN_PIECE bytes, for what is read of loans, or is sent in a smaller type; NULL:
 *	not yet needed. Nothing stays there from one use to the next.
 * @tx_msg_first: MSG has gone before DATA the last time
 * @tx_op: the op whose frame is being sent
 * @tx_sent: bytes of DATA sent, headers included; a frame counts when it begins
 * @tx_acked: of these, what the peer has consumed
 * @tx_asked: @tx_acked that the last ACK asked for with a frame will make it, or more
 * @tx_zc: of @tx_sent, payload that does not go by the stream
 * @tx_marks: where some of its frames begin, the newest COLL_TX_MARKS
 * @tx_nr_marks: number of marks that have ever been made
 * @tx_doubt: @tx_acked seems to be ahead of what the stack has sent
 * @tx_large: last op that large frames were sent of
 * @zc_op: op some of whose pages are sent without a copy, with a ref; or NULL
 * @zc_recalled: the pages are wanted back: no one waits for the stack forever
 * @zc_since: jiffies when that was; the stream is broken off a moment later
 * @peer_rx_closed: the peer reads no DATA any more: it has failed, or left
 * @ubufs: sends with pages that the stack has not let go of
 * @ubufs_out: these, oldest first
 * @byes_sent: local ranks that have left, as told to the peer
 * @byes_got: ranks of the peer that have left
 * @abort_got: the peer has sent its ABORT
 * @abort_sent: ABORT has been put into the control stream
 * @lost_seq: op that still needed the data stream when the stream was seen closed
 * @lost_msg: a message still needed the data stream then
 * @announced: the op the peer was last told of by POST
 * @peer_seq: the op the peer has told us of
 * @peer_sig: its signature
 */
struct coll_channel {
	struct coll_link link;

	/* Identity: constant once anyone knows of the channel */
	struct coll_group_facts facts;
	struct coll_conn *conn;
	u64 comm;
	u8 name[COLL_WIRE_NAME];
	bool shared;
	struct coll_desk *desk;

	/* Its place among channels: protected by conn->lock; @established is read by anyone */
	struct list_head list;
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
	u32 tx_nr_marks;
	bool tx_doubt;
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
	 * Control: protected by conn->lock; all but @byes_sent, @abort_sent, @announced and
	 * @peer_sig are read by anyone
	 */
	u32 byes_sent;
	u32 byes_got;
	bool abort_got;
	bool abort_sent;
	u64 lost_seq;
	bool lost_msg;
	u64 announced;
	u64 peer_seq;
	u64 peer_sig;
};

/* The group has failed: what still comes is thrown away. */
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
 * coll_ch_hello() - what a group says of itself
 * @ch: its channel, on the control stream
 * @h: result
 */
void coll_ch_hello(const struct coll_channel *ch, struct coll_hello *h);

/* Are bytes of a message due, here? To be sent? Either way? */
bool coll_ch_expects_msg(const struct coll_channel *ch);

bool coll_ch_owes(const struct coll_channel *ch);

bool coll_ch_talks(const struct coll_channel *ch);

/* Ranks of the peer. */
u32 coll_ch_peer_ranks(const struct coll_channel *ch);

/* The op that the end of a stream is reported for: the oldest that runs, or the last one. */
u64 coll_ch_now(const struct coll_channel *ch);

/* Fail the group for what the peer sent (PROTO, MISMATCH) or did (LINK). */
void coll_ch_fail(struct coll_channel *ch, u32 kind, int error, u64 seq, u32 code);

/* The same for bytes that are wrong. */
void coll_ch_proto(struct coll_channel *ch, u64 seq);

/* The op that the channel is at, receiving; NULL: none, or it has failed. In a pass. */
struct coll_op *coll_ch_receives(struct coll_channel *ch);

/* The same, sending. */
struct coll_op *coll_ch_sends(struct coll_channel *ch);

#endif /* COLL_XPORT_CHANNEL_H */
