// SPDX-License-Identifier: GPL-2.0
#include <linux/bvec.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "../core/exec.h"
#include "../core/group.h"
#include "../core/limits.h"
#include "../core/op.h"
#include "../core/trace.h"
#include "tcp.h"

/* Pieces of one sendmsg: a header and 31 runs of payload. */
#define COLL_TX_BVECS	32

static void coll_tx_frame(struct coll_stream *st, const struct coll_frame *f)
{
	coll_wire_put_header(st->tx_buf, f);
	st->tx_off = 0;
	st->tx_len = COLL_WIRE_HDR;
	WRITE_ONCE(st->stat.tx_frames, st->stat.tx_frames + 1);
}

static void coll_tx_post(struct coll_stream *st)
{
	struct coll_group *g = st->link->link.group;
	struct coll_frame f = {
		.type = COLL_FRAME_POST,
		.comm = coll_wire_comm(g->key),
		.epoch = g->epoch,
	};

	spin_lock(&g->lock);
	f.seq = g->announced_seq;
	f.signature = g->announced_sig;
	spin_unlock(&g->lock);
	st->link->announced = f.seq;
	coll_tx_frame(st, &f);
}

static void coll_tx_ctrl_frame(struct coll_stream *st, u8 type, u32 length)
{
	const struct coll_group *g = st->link->link.group;
	struct coll_frame f = {
		.type = type,
		.comm = coll_wire_comm(g->key),
		.epoch = g->epoch,
		.length = length,
	};

	coll_tx_frame(st, &f);
	st->tx_len += length;
}

static void coll_tx_hello(struct coll_stream *st)
{
	const struct coll_group *g = st->link->link.group;
	struct coll_hello h = {
		.size = g->size,
		.nr_nodes = g->nr_nodes,
		.src_node = g->node,
		.dst_node = st->link->link.peer,
		.stripe = st->stripe,
		.wire_min = COLL_WIRE_VERSION,
		.wire_max = COLL_WIRE_VERSION,
	};

	memcpy(h.key, g->key, sizeof(h.key));
	coll_wire_put_hello(st->tx_buf + COLL_WIRE_HDR, &h);
	memzero_explicit(h.key, sizeof(h.key));
	coll_tx_ctrl_frame(st, COLL_FRAME_HELLO, COLL_WIRE_HELLO);
	st->tx_hello = true;
}

/* The next control frame that is due, into tx_buf. Return: false for none. */
static bool coll_tx_next_ctrl(struct coll_stream *st)
{
	struct coll_tcp_link *tl = st->link;
	struct coll_group *g = tl->link.group;
	struct coll_cause cause;
	struct coll_bye bye;

	if (!st->tx_hello) {
		coll_tx_hello(st);
		return true;
	}
	if (st->stripe != COLL_STRIPE_CTRL)
		return false;
	if (READ_ONCE(g->error) && !tl->abort_sent) {
		spin_lock(&g->lock);
		cause = g->cause;
		spin_unlock(&g->lock);
		coll_wire_put_abort(st->tx_buf + COLL_WIRE_HDR, &cause);
		coll_tx_ctrl_frame(st, COLL_FRAME_ABORT, COLL_WIRE_ABORT);
		tl->abort_sent = true;
		return true;
	}
	if (tl->byes_sent < READ_ONCE(g->nr_left)) {
		spin_lock(&g->lock);
		bye.rank = g->local_left[tl->byes_sent].rank;
		bye.seq = g->local_left[tl->byes_sent].seq;
		spin_unlock(&g->lock);
		coll_wire_put_bye(st->tx_buf + COLL_WIRE_HDR, &bye);
		coll_tx_ctrl_frame(st, COLL_FRAME_BYE, COLL_WIRE_BYE);
		tl->byes_sent++;
		return true;
	}
	if (tl->announced != READ_ONCE(g->announced_seq)) {
		coll_tx_post(st);
		return true;
	}
	return false;
}

/* Return: bytes taken by the socket, 0 if it has no room, negative if broken. */
static int coll_tx_send(struct coll_stream *st, struct bio_vec *bv,
			unsigned int nr, u32 bytes, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};
	int ret;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, bytes);
	ret = sock_sendmsg(st->sock, &msg);
	if (ret > 0)
		WRITE_ONCE(st->stat.tx_bytes, st->stat.tx_bytes + ret);
	if (ret == -EAGAIN || ret == -ENOMEM || ret == -ENOBUFS) {
		WRITE_ONCE(st->stat.tx_stalls, st->stat.tx_stalls + 1);
		return 0;
	}
	/* Whoever meets a socket's error first takes it away. */
	if (ret < 0 && ret != -EPIPE)
		st->error = -ret;
	return ret;
}

static void coll_tx_head_bvec(struct coll_stream *st, struct bio_vec *bv)
{
	bv->bv_page = virt_to_page(st->tx_buf + st->tx_off);
	bv->bv_offset = offset_in_page(st->tx_buf + st->tx_off);
	bv->bv_len = st->tx_len - st->tx_off;
}

void coll_stream_tx_ctrl(struct coll_stream *st)
{
	struct bio_vec bv;
	int ret;

	/* A data stream in the middle of a frame is tx_data's. */
	while (st->tx_off < st->tx_len || coll_tx_next_ctrl(st)) {
		coll_tx_head_bvec(st, &bv);
		ret = coll_tx_send(st, &bv, 1, bv.bv_len, false);
		if (ret <= 0)
			return;	/* an error shows on the receive side */
		st->tx_off += ret;
	}
}

/* Start the next DATA frame of the op, if there is one. */
static bool coll_tx_next_data(struct coll_stream *st, struct coll_op *op)
{
	struct coll_group *g = op->group;
	struct coll_exec_step *step;
	struct coll_frame f = { .type = COLL_FRAME_DATA };
	u32 avail;

	step = coll_exec_send_step(op->exec, st->link->link.peer, &avail);
	if (!step)
		return false;
	f.comm = coll_wire_comm(g->key);
	f.epoch = g->epoch;
	f.transfer = step->ordinal;
	f.seq = op->seq;
	f.offset = step->done;
	f.length = avail;
	f.signature = coll_exec_signature(op->exec, step);
	coll_tx_frame(st, &f);
	st->tx_left = avail;
	st->tx_token = !avail;
	return true;
}

/*
 * One sendmsg of the frame at hand: what is left of its header, then payload.
 * Return: payload and header bytes sent, 0: no room, negative: broken.
 */
static int coll_tx_push(struct coll_stream *st, struct coll_op *op)
{
	struct coll_exec_step *step;
	struct bio_vec bv[COLL_TX_BVECS];
	unsigned int head = 0, nr = 0;
	u32 head_len = st->tx_len - st->tx_off;
	u32 unused;
	int payload = 0;
	int ret;

	step = coll_exec_sending(op->exec, st->link->link.peer);
	if (head_len)
		coll_tx_head_bvec(st, &bv[head++]);
	if (st->tx_left) {
		payload = coll_vec_bvecs(step->src.vec, step->src.at + step->done,
					 st->tx_left, bv + head,
					 COLL_TX_BVECS - head, &nr);
		if (payload < 0) {
			coll_exec_failed(op->exec, payload);
			return payload;
		}
	}
	unused = st->tx_left - payload;
	ret = coll_tx_send(st, bv, head + nr, head_len + payload, unused);
	if (nr)
		coll_bvecs_put(step->src.vec, bv + head, nr);
	if (ret <= 0)
		return ret;
	if (ret < head_len) {
		st->tx_off += ret;
		return ret;
	}
	st->tx_off = st->tx_len;
	payload = ret - head_len;
	st->tx_left -= payload;
	if (payload || st->tx_token) {
		trace_coll_segment(op->group->id, op->seq, st->link->link.peer,
				   step - op->exec->steps, step->s.kind,
				   step->done, payload);
		st->tx_token = false;
		coll_exec_sent(op->exec, step, payload);
	}
	return ret;
}

bool coll_stream_tx_data(struct coll_stream *st, struct coll_op *op)
{
	u32 budget = COLL_WORK_BUDGET;
	int ret;

	if (!st->tx_hello || (st->tx_off < st->tx_len && !st->tx_left && !st->tx_token))
		coll_stream_tx_ctrl(st);
	if (!op || (st->tx_off < st->tx_len && !st->tx_left && !st->tx_token))
		return false;
	/* No byte of the user for a peer that has not shown the key. */
	if (!st->greeted)
		return false;
	while (budget) {
		if (coll_op_ending(op))
			return false;
		if (st->tx_off == st->tx_len && !st->tx_left &&
		    !coll_tx_next_data(st, op))
			return false;
		ret = coll_tx_push(st, op);
		if (ret <= 0)
			return false;	/* errors of the socket: see rx */
		budget -= min_t(u32, budget, ret);
	}
	return true;
}
