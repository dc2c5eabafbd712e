// SPDX-License-Identifier: GPL-2.0
/* Control frames, as they are due. */
#include <linux/bvec.h>
#include <linux/jiffies.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "../core/group/transport.h"
#include "../core/limits.h"
#include "../core/p2p/frames.h"
#include "../core/tensor/tensor.h"
#include "../core/tensor/tensor_talk.h"
#include "channel.h"
#include "conn.h"
#include "tx_ctrl.h"
#include "wake.h"

/* Bytes that have been consumed before an ACK is sent unasked. */
#define COLL_ACK_BYTES	(COLL_WIRE_WINDOW / 4)

void coll_tx_rewind(struct coll_stream *st)
{
	st->tx_off = 0;
	st->tx_len = 0;
}

/* Where the payload of the next frame goes. */
static u8 *coll_tx_ctrl_payload(struct coll_stream *st)
{
	return st->tx_buf + st->tx_len + COLL_WIRE_HDR;
}

void coll_tx_frame(struct coll_stream *st, const struct coll_frame *f)
{
	coll_wire_put_header(st->tx_buf + st->tx_len, f);
	st->tx_len += COLL_WIRE_HDR;
	WRITE_ONCE(st->stat.tx_frames, st->stat.tx_frames + 1);
}

/* HELLO, or PROOF, of the communicator that @mine names. Return: false if none is due. */
static bool coll_tx_put_greet(struct coll_stream *st, struct coll_greet *g,
			      const struct coll_hello *mine, const u8 *key, u32 epoch)
{
	struct coll_frame f = { .comm = coll_wire_comm(mine->name), .epoch = epoch };
	u8 *payload = coll_tx_ctrl_payload(st);

	if (g->hello_due) {
		f.type = COLL_FRAME_HELLO;
		f.length = COLL_WIRE_HELLO;
		coll_wire_put_hello(payload, mine);
		g->hello_due = false;
	} else if (g->proof_due) {
		f.type = COLL_FRAME_PROOF;
		f.length = COLL_WIRE_PROOF;
		coll_greet_put_proof(g, payload, mine, key, epoch);
	} else {
		return false;
	}
	coll_tx_frame(st, &f);
	st->tx_len += f.length;
	return true;
}

bool coll_tx_greet(struct coll_stream *st)
{
	struct coll_hello mine;

	if (!st->greet.hello_due && !st->greet.proof_due)
		return false;
	coll_conn_hello(st, &mine);
	return coll_tx_put_greet(st, &st->greet, &mine, st->conn->key, st->conn->epoch);
}

static bool coll_tx_shared_greet(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_hello mine;

	if (!ch->greet.hello_due && !ch->greet.proof_due)
		return false;
	coll_ch_hello(ch, &mine);
	return coll_tx_put_greet(st, &ch->greet, &mine, ch->facts.key, ch->facts.epoch);
}

/* A frame without payload, or with a payload that is at coll_tx_ctrl_payload() already. */
static void coll_tx_put(struct coll_stream *st, const struct coll_channel *ch,
			struct coll_frame *f, u8 type, u32 length)
{
	f->type = type;
	f->comm = ch->comm;
	f->epoch = ch->facts.epoch;
	f->length = length;
	coll_tx_frame(st, f);
	st->tx_len += length;
}

static void coll_tx_post(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { };

	f.seq = coll_group_announcement(ch->link.group, &f.signature);
	ch->announced = f.seq;
	coll_tx_put(st, ch, &f, COLL_FRAME_POST, 0);
}

static void coll_tx_abort(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { };
	struct coll_cause cause;

	coll_group_cause_for_peers(ch->link.group, &cause);
	coll_wire_put_abort(coll_tx_ctrl_payload(st), &cause);
	coll_tx_put(st, ch, &f, COLL_FRAME_ABORT, COLL_WIRE_ABORT);
	ch->abort_sent = true;
}

/* Is a frame due that comes before BYE: an answer of the rank, or records about tensors? */
static bool coll_tx_owes(struct coll_channel *ch)
{
	struct coll_group *g = ch->link.group;

	return !ch->link.nr && (coll_msg_has_frames(g, ch->link.peer) ||
				(coll_group_has_tensors(g) && coll_tensors_owe(g, ch->link.peer)));
}

/*
 * BYE, if one is due. Other frames may have become due after coll_tx_msg() and coll_tx_tensor() have
 * looked, or may wait for PROVEN of the data stream.
 */
static bool coll_tx_bye(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { };
	struct coll_bye bye;

	/* In this order: the last frames of a rank are due before the rank has left. */
	if (!coll_group_goodbye(ch->link.group, ch->byes_sent, &bye) || coll_tx_owes(ch))
		return false;
	coll_wire_put_bye(coll_tx_ctrl_payload(st), &bye);
	coll_tx_put(st, ch, &f, COLL_FRAME_BYE, COLL_WIRE_BYE);
	ch->byes_sent++;
	return true;
}

static void coll_tx_ack(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { .offset = ch->rx_done };

	ch->rx_told = ch->rx_done;
	ch->rx_ack_now = false;
	coll_tx_put(st, ch, &f, COLL_FRAME_ACK, 0);
}

/* RTS, CTS or CANCEL, if one is due. */
static bool coll_tx_msg(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_msg_frame m;
	struct coll_frame f = { };

	if (ch->link.nr || !coll_ch_established(ch) ||
	    !coll_msg_next_frame(ch->link.group, ch->link.peer, &m))
		return false;
	f.seq = m.id;
	if (m.kind == COLL_MSG_ANSWER) {
		f.transfer = m.error;
		coll_tx_put(st, ch, &f, COLL_FRAME_CTS, 0);
	} else if (m.kind == COLL_MSG_WITHDRAW) {
		coll_tx_put(st, ch, &f, COLL_FRAME_CANCEL, 0);
	} else {
		struct coll_rts r = {
			.source = m.source,
			.dest = m.dest,
			.tag = m.tag,
			.dtype = m.dtype,
			.bytes = m.bytes,
		};

		coll_wire_put_rts(coll_tx_ctrl_payload(st), &r);
		coll_tx_put(st, ch, &f, COLL_FRAME_RTS, COLL_WIRE_RTS);
	}
	return true;
}

/* TENSOR, if one is due. */
static bool coll_tx_tensor(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_group *g = ch->link.group;
	struct coll_frame f = { };
	u32 len;

	if (!coll_group_has_tensors(g) || ch->link.nr)
		return false;
	len = coll_tensors_say(g, ch->link.peer, coll_tx_ctrl_payload(st), COLL_WIRE_TENSOR_MAX);
	if (!len)
		return false;
	coll_tx_put(st, ch, &f, COLL_FRAME_TENSOR, len);
	return true;
}

static bool coll_tx_ack_due(const struct coll_channel *ch)
{
	u64 news = ch->rx_done - ch->rx_told;

	return news >= COLL_ACK_BYTES || (news && ch->rx_ack_now);
}

/* Append the control frame of a channel that is due. Return: false for none. */
static bool coll_tx_due(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_group *g = ch->link.group;

	if (ch->shared && coll_tx_shared_greet(st, ch))
		return true;
	if (ch->shared && !ch->established)
		return false;	/* nothing before the peer has proved that it knows the key */
	if (coll_group_error(g) && !ch->abort_sent)
		coll_tx_abort(st, ch);
	else if (coll_tx_msg(st, ch))
		return true;	/* before BYE: the last answers of a rank that leaves */
	else if (coll_tx_tensor(st, ch))
		return true;	/* before BYE: tensors that the rank has started */
	else if (coll_tx_bye(st, ch))
		return true;
	else if (ch->byes_sent >= ch->facts.nr_local || coll_group_error(g))
		return false;	/* no POST and no ACK after ABORT, or after the last BYE */
	else if (ch->announced != coll_group_announced(g))
		coll_tx_post(st, ch);
	else if (coll_tx_ack_due(ch))
		coll_tx_ack(st, ch);
	else
		return false;
	return true;
}

static bool coll_tx_has_room(const struct coll_stream *st)
{
	return st->tx_len + COLL_STREAM_BUF <= sizeof(st->tx_buf);
}

/*
 * Fill the empty buffer with frames that are due. A channel that had some goes to the end of the
 * queue: if there is no room for all, other channels come first the next time.
 */
static void coll_tx_fill(struct coll_stream *st)
{
	struct coll_channel *ch, *next;

	coll_tx_rewind(st);
	if (coll_tx_greet(st) || !st->established)
		return;
	list_for_each_entry_safe(ch, next, &st->conn->channels, list) {
		u32 before = st->tx_len;

		while (coll_tx_has_room(st) && coll_tx_due(st, ch))
			;
		if (st->tx_len > before)
			list_move_tail(&ch->list, &st->conn->channels);
		if (!coll_tx_has_room(st))
			return;
	}
}

int coll_tx_send(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, bytes);
	return coll_tx_result(st, sock_sendmsg(st->sock, &msg), COLL_NL_SEND_MODE_COPY);
}

int coll_tx_result(struct coll_stream *st, int ret, enum coll_nl_send_mode mode)
{
	u64 *by = &st->stat.tx_by[mode];

	if (ret > 0) {
		st->tx_pos += ret;
		WRITE_ONCE(st->stat.tx_bytes, st->stat.tx_bytes + ret);
		WRITE_ONCE(*by, *by + ret);
	}
	if (ret == -EAGAIN || ret == -ENOMEM || ret == -ENOBUFS) {
		WRITE_ONCE(st->stat.tx_stalls, st->stat.tx_stalls + 1);
		/*
		 * There is room, but no memory, of the machine or of TCP (tcp_mem). No callback
		 * tells when there is memory again, because nothing may be in flight: retry.
		 */
		if (ret != -EAGAIN || sk_stream_is_writeable(st->sock->sk))
			coll_conn_retry(st->conn);
		return 0;
	}
	/* The call that returns a socket's error clears it: save it. */
	if (ret < 0 && ret != -EPIPE)
		st->error = -ret;
	return ret;
}

void coll_tx_head_bvec(struct coll_stream *st, struct bio_vec *bv)
{
	bv->bv_page = virt_to_page(st->tx_buf + st->tx_off);
	bv->bv_offset = offset_in_page(st->tx_buf + st->tx_off);
	bv->bv_len = st->tx_len - st->tx_off;
}

bool coll_tx_ctrl(struct coll_stream *st)
{
	unsigned long end = jiffies + msecs_to_jiffies(COLL_WORK_MS);
	struct bio_vec bv;
	int ret;

	for (;;) {
		if (st->tx_off == st->tx_len)
			coll_tx_fill(st);
		if (st->tx_off == st->tx_len)
			return false;
		if (time_after(jiffies, end))
			return true;
		coll_tx_head_bvec(st, &bv);
		ret = coll_tx_send(st, &bv, 1, bv.bv_len, false);
		if (ret <= 0)
			return false;	/* coll_rx() sees an error of the socket */
		st->tx_off += ret;
	}
}
