// SPDX-License-Identifier: GPL-2.0
/* Control frames, whole: obeyed, or the end of their channel. */
#include <crypto/algapi.h>

#include "../core/group.h"
#include "../core/msg.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "tx.h"

/* The peer must know the key, its place, and speak our version. */
static int coll_rx_check_hello(const u8 *payload, const struct coll_hello *mine,
			       u32 stripe)
{
	struct coll_hello h;
	int ret;

	ret = coll_wire_get_hello(payload, &h);
	if (ret)
		return ret;
	ret = crypto_memneq(h.key, mine->key, sizeof(h.key)) ? -EPROTO : 0;
	memzero_explicit(h.key, sizeof(h.key));
	if (ret || h.size != mine->size || h.nr_nodes != mine->nr_nodes ||
	    h.src_node != mine->dst_node || h.dst_node != mine->src_node ||
	    h.stripe != stripe || h.wire_min > COLL_WIRE_VERSION ||
	    h.wire_max < COLL_WIRE_VERSION)
		return -EPROTO;
	return 0;
}

/* The first frame of a stream, of the group that made the conn. */
static int coll_rx_greet(struct coll_stream *st)
{
	int ret;

	ret = coll_rx_check_hello(st->rx_buf + COLL_WIRE_HDR, &st->conn->hello,
				  st->conn->hello.stripe + st->stripe);
	if (ret)
		return ret;
	WRITE_ONCE(st->greeted, true);
	WRITE_ONCE(st->stat.state, COLL_NL_LINK_STATE_UP);
	wake_up(&st->conn->settled);
	return 0;
}

/* A guest may be greeted twice: ours may have come before the peer's was there. */
static int coll_rx_hello(struct coll_channel *ch, const u8 *payload)
{
	struct coll_hello mine;
	int ret;

	if (!ch->guest || ch->hellos == 2)
		return -EPROTO;
	coll_ch_hello(ch, &mine);
	ret = coll_rx_check_hello(payload, &mine, mine.stripe);
	memzero_explicit(mine.key, sizeof(mine.key));
	if (ret)
		return ret;
	if (!ch->hellos++)
		ch->hello_due = true;
	WRITE_ONCE(ch->greeted, true);
	wake_up(&ch->conn->settled);
	return 0;
}

/* It reads nothing more: what we could not end before is to end now. */
static void coll_rx_deaf(struct coll_channel *ch)
{
	WRITE_ONCE(ch->deaf, true);
	wake_up(&ch->conn->settled);
}

static int coll_rx_bye(struct coll_channel *ch, const u8 *payload)
{
	const struct coll_group *g = ch->link.group;
	struct coll_bye b;

	if (coll_wire_get_bye(payload, &b) || b.rank >= g->size ||
	    g->node_of[b.rank] != ch->link.peer)
		return -EPROTO;
	WRITE_ONCE(ch->byes_got, ch->byes_got + 1);
	if (ch->byes_got >= coll_ch_peer_ranks(ch))
		coll_rx_deaf(ch);
	/* The first link has what else it has said before. */
	if (!ch->link.nr)
		coll_group_remote_bye(ch->link.group, b.rank, b.seq);
	return 0;
}

static int coll_rx_abort(struct coll_channel *ch, const u8 *payload)
{
	struct coll_group *g = ch->link.group;
	struct coll_cause c;

	if (coll_wire_get_abort(payload, &c) || !c.error || c.error > 4095)
		return -EPROTO;
	/* Whatever the kind: only who has failed says so. */
	coll_rx_deaf(ch);
	if (c.kind == COLL_CAUSE_CLOSE && !coll_msgs_without(g, ch->link.peer))
		coll_group_doom(g, &c);
	else
		coll_group_fail(g, &c);
	return 0;
}

/* The peer waits in an op: coll_ch_check_post() holds it against ours. */
static int coll_rx_post(struct coll_channel *ch, const struct coll_frame *f)
{
	if (f->seq <= ch->peer_seq)
		return -EPROTO;
	ch->peer_sig = f->signature;
	WRITE_ONCE(ch->peer_seq, f->seq);
	return 0;
}

/* The window moves on: forward only, and not beyond what has been sent. */
static int coll_rx_ack(struct coll_channel *ch, const struct coll_frame *f)
{
	if (f->offset <= ch->tx_acked || f->offset > ch->tx_sent)
		return -EPROTO;
	ch->tx_acked = f->offset;
	coll_choice_acked(ch);
	return 0;
}

/* Of a channel that is here. Before it is greeted it hears nothing else. */
static int coll_rx_obey(struct coll_channel *ch, const struct coll_frame *f,
			const u8 *payload)
{
	if (f->type == COLL_FRAME_HELLO)
		return coll_rx_hello(ch, payload);
	if (ch->guest && !ch->greeted)
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
		return ch->link.nr ? -EPROTO : coll_ch_msg_ctrl(ch, f, payload);
	default:
		return -EPROTO;
	}
}

int coll_rx_ctrl(struct coll_stream *st)
{
	const struct coll_frame *f = &st->rx_frame;

	if (!st->greeted)
		return coll_rx_greet(st);
	/* Not here yet, or not any more: see coll_rx_legal(). */
	if (st->rx_ch && coll_rx_obey(st->rx_ch, f, st->rx_buf + COLL_WIRE_HDR))
		coll_ch_proto(st->rx_ch, f->seq);
	return 0;
}
