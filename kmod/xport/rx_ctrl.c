// SPDX-License-Identifier: GPL-2.0
/* Obeys whole control frames. A wrong frame fails its channel. */
#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/nospec.h>

#include "../core/group/failure.h"
#include "../core/group/leave.h"
#include "../core/group/transport.h"
#include "../core/p2p/walk.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_talk.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "rx_ctrl.h"
#include "rx_msg.h"
#include "tx_ack.h"
#include "tx_choice.h"

/* HELLO or PROOF on a stream, of the group that made the conn. */
static int coll_rx_greet_locked(struct coll_stream *st)
{
	const u8 *payload = st->rx_buf + COLL_WIRE_HDR;
	struct coll_conn *conn = st->conn;
	struct coll_hello mine;
	int ret;

	lockdep_assert_held(&conn->lock);
	coll_conn_hello(st, &mine);
	if (st->rx_frame.type == COLL_FRAME_HELLO)
		return coll_greet_hello(&st->greet, payload, &mine, 1);
	ret = coll_greet_proof(&st->greet, payload, &mine, conn->key, conn->epoch);
	if (ret)
		return ret;
	WRITE_ONCE(st->established, true);
	WRITE_ONCE(st->stat.state, COLL_NL_LINK_STATE_UP);
	return 0;
}

/*
 * A shared channel may receive HELLO twice: both sides may send first, and ours may have come
 * before the peer's channel was there.
 */
static int coll_rx_hello(struct coll_channel *ch, const u8 *payload)
{
	bool first = ch->greet.state == COLL_GREET_NONE;
	struct coll_hello mine;
	int ret;

	if (!ch->shared)
		return -EPROTO;
	coll_ch_hello(ch, &mine);
	ret = coll_greet_hello(&ch->greet, payload, &mine, 2);
	/* Even if HELLO is refused: the peer gets no ABORT, but finds the mistake in our HELLO. */
	if (first)
		ch->greet.hello_due = true;
	return ret;
}

static int coll_rx_proof(struct coll_channel *ch, const u8 *payload)
{
	struct coll_hello mine;
	int ret;

	if (!ch->shared)
		return -EPROTO;
	coll_ch_hello(ch, &mine);
	ret = coll_greet_proof(&ch->greet, payload, &mine, ch->facts.key,
			       ch->facts.epoch);
	if (!ret)
		WRITE_ONCE(ch->established, true);
	return ret;
}

/* The peer reads no more DATA: a half-sent frame that waits for this may end now. */
static void coll_rx_peer_closed(struct coll_channel *ch)
{
	WRITE_ONCE(ch->peer_rx_closed, true);
}

static int coll_rx_bye(struct coll_channel *ch, const u8 *payload)
{
	struct coll_bye b;

	if (coll_wire_get_bye(payload, &b) ||
	    !coll_group_is_on(ch->link.group, b.rank, ch->link.peer))
		return -EPROTO;
	b.rank = array_index_nospec(b.rank, ch->facts.size);
	/* One BYE for each rank, and one ABORT: each costs a walk through all that is posted. */
	if (__test_and_set_bit(b.rank, ch->byes))
		return -EPROTO;
	WRITE_ONCE(ch->byes_got, ch->byes_got + 1);
	if (ch->byes_got >= coll_ch_peer_ranks(ch))
		coll_rx_peer_closed(ch);
	/* Link 0 counts: the earlier messages of the rank have come on it. */
	return ch->link.nr ? 0 : coll_group_remote_bye(ch->link.group, &b);
}

static int coll_rx_abort(struct coll_channel *ch, const u8 *payload)
{
	struct coll_group *g = ch->link.group;
	struct coll_cause c;

	if (coll_wire_get_abort(payload, &c) || !c.error || c.error > 4095 || ch->abort_got)
		return -EPROTO;
	ch->abort_got = true;
	/* Only a peer that has failed sends ABORT, whatever the cause. */
	coll_rx_peer_closed(ch);
	if (c.kind == COLL_CAUSE_CLOSE) {
		/* Do this first: messages that are refused from now on report this cause. */
		coll_group_fail_later(g, &c);
		if (!coll_msgs_without(g, ch->link.peer))
			return 0;
	}
	coll_group_fail(g, &c);
	return 0;
}

/* The peer waits in an op: coll_ch_check_post() compares its signature with ours. */
static int coll_rx_post(struct coll_channel *ch, const struct coll_frame *f)
{
	if (f->seq <= ch->peer_seq)
		return -EPROTO;
	ch->peer_sig = f->signature;
	WRITE_ONCE(ch->peer_seq, f->seq);
	return 0;
}

/* The window moves on: forward only, and not beyond the bytes sent. See coll_tx_acked(). */
static int coll_rx_ack(struct coll_channel *ch, const struct coll_frame *f)
{
	if (f->offset <= ch->tx_acked || f->offset > ch->tx_sent)
		return -EPROTO;
	ch->tx_acked = f->offset;
	coll_tx_acked(ch);
	coll_choice_acked(ch);
	return 0;
}

/* A frame for channel @ch. Until its handshake is complete it takes no other frame. */
static int coll_rx_obey(struct coll_channel *ch, const struct coll_frame *f,
			const u8 *payload)
{
	if (f->type == COLL_FRAME_HELLO)
		return coll_rx_hello(ch, payload);
	if (f->type == COLL_FRAME_PROOF)
		return coll_rx_proof(ch, payload);
	if (ch->shared && !ch->established)
		return -EPROTO;
	switch (f->type) {
	case COLL_FRAME_BYE:
		return coll_rx_bye(ch, payload);
	case COLL_FRAME_ABORT:
		return coll_rx_abort(ch, payload);
	case COLL_FRAME_POST:
		return coll_rx_post(ch, f);
	case COLL_FRAME_ACK:
		return coll_rx_ack(ch, f);
	case COLL_FRAME_RTS:
	case COLL_FRAME_CTS:
	case COLL_FRAME_CANCEL:
		return ch->link.nr ? -EPROTO : coll_ch_msg_ctrl(ch, f, payload);
	case COLL_FRAME_TENSOR:
		return ch->link.nr ? -EPROTO : coll_tensors_hear(ch->link.group, ch->link.peer,
								 payload, f->length);
	default:
		return -EPROTO;
	}
}

int coll_rx_ctrl(struct coll_stream *st)
{
	const struct coll_frame *f = &st->rx_frame;

	if (!st->established)
		return coll_rx_greet_locked(st);
	/* No channel: it does not exist yet, or has gone. See coll_rx_legal(). */
	if (st->rx_ch && coll_rx_obey(st->rx_ch, f, st->rx_buf + COLL_WIRE_HDR))
		coll_ch_proto(st->rx_ch, f->seq);
	return 0;
}
