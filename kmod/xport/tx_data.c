// SPDX-License-Identifier: GPL-2.0
/* DATA of the running ops: channels take turns, frame by frame. */
#include <linux/bvec.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include "../core/exec.h"
#include "../core/group.h"
#include "../core/limits.h"
#include "../core/op.h"
#include "../core/trace.h"
#include "channel.h"
#include "conn.h"
#include "tx.h"

/* Pieces of one sendmsg: a header and 31 runs of payload. */
#define COLL_TX_BVECS	32

/* Start the next DATA frame of a channel, if it has one and the window is open. */
static bool coll_tx_begin(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { .type = COLL_FRAME_DATA };
	struct coll_exec_step *step;
	u32 avail, bytes;

	if (!ch->op || coll_op_ending(ch->op))
		return false;
	/* No byte of the user for a peer that has not shown the key. */
	if (!coll_ch_greeted(ch))
		return false;
	step = coll_exec_send_step(ch->op->exec, ch->link.peer, &avail);
	if (!step)
		return false;
	bytes = COLL_WIRE_HDR + avail;
	if (ch->tx_sent - ch->tx_acked > COLL_WIRE_WINDOW - bytes) {
		WRITE_ONCE(st->stat.tx_stalls, st->stat.tx_stalls + 1);
		return false;
	}
	ch->tx_sent += bytes;
	f.comm = ch->comm;
	f.epoch = ch->link.group->epoch;
	f.transfer = step->ordinal;
	f.seq = ch->op->seq;
	f.offset = step->done;
	f.length = avail;
	f.signature = coll_exec_signature(ch->op->exec, step);
	coll_tx_frame(st, &f);
	st->tx_ch = ch;
	st->tx_left = avail;
	st->tx_token = !avail;
	return true;
}

/* The next frame; who has sent one goes to the end of the queue. */
static bool coll_tx_next(struct coll_stream *st)
{
	struct coll_conn *conn = st->conn;
	struct coll_channel *ch;

	if (!st->tx_hello) {
		coll_tx_hello(st);
		return true;
	}
	list_for_each_entry(ch, &conn->channels, list) {
		if (coll_tx_begin(st, ch)) {
			list_move_tail(&ch->list, &conn->channels);
			return true;
		}
	}
	return false;
}

/* Runs of zeroes: see coll_tx_orphan(). Return: bytes. */
static int coll_tx_zeroes(u32 len, struct bio_vec *bv, unsigned int max,
			  unsigned int *nr)
{
	u32 got = 0;

	for (*nr = 0; *nr < max && got < len; ++*nr) {
		bv[*nr].bv_page = ZERO_PAGE(0);
		bv[*nr].bv_offset = 0;
		bv[*nr].bv_len = min_t(u32, len - got, PAGE_SIZE);
		got += bv[*nr].bv_len;
	}
	return got;
}

/*
 * The op of a frame that is half sent has failed: its pages may not be read any
 * more, but the others on this stream want to go on. Zeroes make the frame whole;
 * the peer has heard, or will hear, not to use it.
 */
static void coll_tx_orphan(struct coll_stream *st)
{
	const struct coll_channel *ch = st->tx_ch;

	if (ch && (!ch->op || coll_op_ending(ch->op)))
		st->tx_ch = NULL;
}

static void coll_tx_account(struct coll_stream *st, struct coll_exec_step *step,
			    u32 payload)
{
	struct coll_channel *ch = st->tx_ch;
	struct coll_exec *x = ch->op->exec;

	trace_coll_segment(ch->link.group->id, ch->op->seq, ch->link.peer,
			   step - x->steps, step->s.kind, step->done, payload);
	coll_exec_sent(x, step, payload);
}

/*
 * One sendmsg of the frame at hand: what is left of its header, then payload.
 * Return: payload and header bytes sent, 0: no room, negative: broken.
 */
static int coll_tx_push(struct coll_stream *st)
{
	struct coll_exec_step *step = NULL;
	u32 head_len = st->tx_len - st->tx_off;
	struct bio_vec bv[COLL_TX_BVECS];
	unsigned int head = 0, nr = 0;
	struct coll_channel *ch;
	int payload = 0;
	int ret;

	coll_tx_orphan(st);
	ch = st->tx_ch;
	if (ch)
		step = coll_exec_sending(ch->op->exec, ch->link.peer);
	if (head_len)
		coll_tx_head_bvec(st, &bv[head++]);
	if (st->tx_left && !ch)
		payload = coll_tx_zeroes(st->tx_left, bv + head,
					 COLL_TX_BVECS - head, &nr);
	else if (st->tx_left)
		payload = coll_vec_bvecs(step->src.vec, step->src.at + step->done,
					 st->tx_left, bv + head,
					 COLL_TX_BVECS - head, &nr);
	if (payload < 0) {
		coll_exec_failed(ch->op->exec, payload);
		return payload;
	}
	ret = coll_tx_send(st, bv, head + nr, head_len + payload,
			   st->tx_left > payload);
	if (nr && ch)
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
	if (ch && (payload || st->tx_token))
		coll_tx_account(st, step, payload);
	if (!st->tx_left) {
		st->tx_token = false;
		st->tx_ch = NULL;
	}
	return ret;
}

bool coll_tx_data(struct coll_stream *st)
{
	u32 budget = COLL_WORK_BUDGET;
	int ret;

	while (budget) {
		if (st->tx_off == st->tx_len && !st->tx_left && !coll_tx_next(st))
			return false;
		ret = coll_tx_push(st);
		if (ret <= 0)
			return false;	/* errors of the socket: see rx */
		budget -= min_t(u32, budget, ret);
	}
	return true;
}
