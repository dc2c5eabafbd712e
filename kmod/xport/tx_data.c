// SPDX-License-Identifier: GPL-2.0
/* DATA of running ops, and messages: channels take turns, frame by frame. */
#include <linux/bvec.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/tcp.h>

#include "../compat.h"
#include "../core/exec/exec.h"
#include "../core/exec/exec_step.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/p2p/bytes.h"
#include "../core/p2p/exchange.h"
#include "../core/trace.h"
#include "channel.h"
#include "conn.h"
#include "tx_ack.h"
#include "tx_choice.h"
#include "tx_ctrl.h"
#include "tx_data.h"
#include "tx_zerocopy.h"
#include "tx_ubuf.h"
#include "wake.h"

/* Pieces of one sendmsg: a header and 31 runs of payload. */
#define COLL_TX_BVECS	32
/* A channel has at most this part of the memory that TCP has left in flight. */
#define COLL_TX_SHARE	8

/* Start a frame. Its header is complete but for the communicator. */
static void coll_tx_start(struct coll_stream *st, struct coll_channel *ch,
			  struct coll_frame *f, u64 msg)
{
	f->comm = ch->comm;
	f->epoch = ch->facts.epoch;
	coll_tx_frame(st, f);
	WRITE_ONCE(st->tx_ch, ch);
	st->tx_msg = msg;
	st->tx_left = coll_wire_follows(f);
	st->tx_loan = f->length - st->tx_left;
	st->tx_token = !f->length;
}

/*
 * All other nodes may send a node DATA that it does not want yet, and messages behind the DATA.
 * Then the DATA has to fit in the memory that one group of a user may have for early frames.
 */
static u32 coll_ch_window(const struct coll_channel *ch)
{
	u32 part = COLL_USER_EARLY_FRAMES / 2 / ch->facts.nr_nodes;

	return clamp(part, COLL_SEGMENT_MIN, COLL_WIRE_WINDOW);
}

/*
 * Bytes that a channel may have in flight: a part of the memory that TCP has left (tcp_mem, or
 * a cgroup's). If that memory runs out, TCP drops segments in flight, waits longer before each
 * further retransmission, and keeps data that came out of order. Linux 6.12 may never recover
 * from that if both sides were sending.
 */
static u32 coll_tx_window(const struct coll_stream *st)
{
	const struct sock *sk = st->sock->sk;
	long room = sk_prot_mem_limits(sk, 1) - sk_memory_allocated(sk);

	if (sk_under_memory_pressure(sk))
		return COLL_SEGMENT_MIN;
	return clamp(room / COLL_TX_SHARE, (long)COLL_SEGMENT_MIN >> PAGE_SHIFT,
		     (long)COLL_WIRE_WINDOW >> PAGE_SHIFT) << PAGE_SHIFT;
}

/* A frame may exceed a window smaller than the peer's if no requested ACK is outstanding. */
static bool coll_tx_fits(const struct coll_channel *ch, u32 bytes, u32 window)
{
	u64 after = ch->tx_sent - ch->tx_acked + bytes;

	return after <= window ||
	       (after <= COLL_WIRE_WINDOW && ch->tx_acked >= ch->tx_asked);
}

/*
 * Does the frame that has just begun, and is counted in ->tx_sent, ask for an ACK? The peer does
 * not know how small the window is. One frame in each quarter of a small window asks.
 */
static bool coll_tx_asks(const struct coll_channel *ch, u32 window)
{
	return window < COLL_WIRE_WINDOW &&
	       ch->tx_sent - max(ch->tx_asked, ch->tx_acked) >= window / 4;
}

/* Choose how the payload is sent. If that is a loan to the other end (loan.h), add the loan. */
static void coll_tx_set_mode(struct coll_stream *st, struct coll_channel *ch,
			     const struct coll_exec_step *step, struct coll_frame *f)
{
	enum coll_nl_send_mode mode = coll_tx_mode(ch, step, f->length);

	st->tx_mode = mode;
	if (mode != COLL_NL_SEND_MODE_SPLICE)
		return;
	/* Only the header goes through the socket. */
	st->tx_mode = COLL_NL_SEND_MODE_COPY;
	coll_tx_zerocopy(ch);
	if (coll_loan_add(ch, f, step->src.vec, step->src.at + step->done))
		f->flags = COLL_FRAME_LOAN;
	ch->tx_zc += f->length - coll_wire_follows(f);
}

/* Start the next DATA frame of a channel, if it has one and the window is open. */
static bool coll_tx_begin_data(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { .type = COLL_FRAME_DATA };
	struct coll_exec_step *step;
	struct coll_op *op = coll_ch_sends(ch);
	u32 avail, bytes, window;
	bool last;

	/* A peer that has left needs no more data. */
	if (!op || ch->peer_rx_closed)
		return false;
	step = coll_exec_send_step(op->exec, &ch->link, &avail);
	if (!step || (step->wire && !coll_piece_ready(ch)))
		return false;
	ch->tx_op = op;
	window = coll_tx_window(st);
	/* Leave half of it to a message, see coll_tx_msg_fits(). */
	if (window < COLL_WIRE_WINDOW && coll_ch_owes(ch))
		window /= 2;
	window = min(window, coll_ch_window(ch));
	avail = min(avail, window);
	bytes = COLL_WIRE_HDR + avail;
	if (!coll_tx_fits(ch, bytes, window)) {
		WRITE_ONCE(st->stat.tx_stalls, st->stat.tx_stalls + 1);
		return false;
	}
	f.transfer = step->ordinal;
	f.seq = op->seq;
	f.offset = step->done;
	f.length = avail;
	f.signature = coll_exec_signature(op->exec, step);
	coll_tx_mark(st, ch);
	coll_tx_set_mode(st, ch, step, &f);
	ch->tx_sent += bytes;
	last = coll_exec_is_last_send(step, avail);
	if (coll_choice_asks(ch, last) || coll_tx_asks(ch, window)) {
		f.flags |= COLL_FRAME_ACK_NOW;
		ch->tx_asked = ch->tx_sent;
	}
	coll_tx_start(st, ch, &f, 0);
	return true;
}

/* Bytes that the socket has been given and the peer's TCP has not acknowledged. */
static u32 coll_tx_unacked(const struct coll_stream *st)
{
	const struct tcp_sock *tp = tcp_sk(st->sock->sk);

	return READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
}

/*
 * A message needs no window, because its receive has been posted. If memory is scarce, TCP's own
 * count limits the bytes in flight: the peer's ACK frames do not count messages.
 */
static bool coll_tx_msg_fits(struct coll_stream *st, u32 window)
{
	if (window >= COLL_WIRE_WINDOW || coll_tx_unacked(st) <= window / 2)
		return true;
	/* An ACK of TCP will come. It calls write_space only if this bit is set. */
	set_bit(SOCK_NOSPACE, &st->sock->flags);
	/* pairs with the barrier in tcp_check_space(), between the ACK and the test of the bit */
	smp_mb__after_atomic();
	return coll_tx_unacked(st) <= window / 2;
}

/* Start the next MSG frame. */
static bool coll_tx_begin_msg(struct coll_stream *st, struct coll_channel *ch)
{
	struct coll_frame f = { .type = COLL_FRAME_MSG };
	struct coll_msg *msg;
	u32 window;

	if (!coll_ch_owes(ch) || coll_ch_failed(ch))
		return false;
	window = coll_tx_window(st);
	if (!coll_tx_msg_fits(st, window))
		return false;
	msg = coll_msg_sending(ch->link.group, ch->link.peer);
	if (!msg)
		return false;
	f.seq = coll_msg_id(msg);
	f.offset = coll_msg_done(msg);
	f.length = min3(coll_msg_bytes(msg) - f.offset, (u64)COLL_SEGMENT, (u64)window / 2);
	coll_msg_put(msg);
	coll_tx_start(st, ch, &f, f.seq);
	return true;
}

/* Begin MSG or DATA. The other one goes first the next time. */
static bool coll_tx_begin(struct coll_stream *st, struct coll_channel *ch)
{
	/* Send no data of a user to a peer that has not proved that it knows the key. */
	if (!coll_ch_established(ch))
		return false;
	ch->tx_msg_first = !ch->tx_msg_first;
	if (ch->tx_msg_first)
		return coll_tx_begin_msg(st, ch) || coll_tx_begin_data(st, ch);
	return coll_tx_begin_data(st, ch) || coll_tx_begin_msg(st, ch);
}

/* Begin the next frame. A channel that has sent one goes to the end of the queue. */
static bool coll_tx_next(struct coll_stream *st)
{
	struct coll_conn *conn = st->conn;
	struct coll_channel *ch;

	coll_tx_rewind(st);
	if (coll_tx_greet(st))
		return true;
	list_for_each_entry(ch, &conn->active, active) {
		if (coll_tx_begin(st, ch)) {
			list_move_tail(&ch->active, &conn->active);
			list_move_tail(&ch->list, &conn->channels);
			return true;
		}
	}
	return false;
}

/* Runs of zeroes: see coll_tx_find(). Return: bytes. */
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

/**
 * struct coll_tx_source - where the payload of the current frame lies
 * @step: DATA
 * @msg: MSG; with a ref
 * @vec: the vector
 * @at: offset in @vec
 */
struct coll_tx_source {
	struct coll_exec_step *step;
	struct coll_msg *msg;
	const struct coll_vec *vec;
	u64 at;
};

/*
 * Find the payload. The op or message of a half-sent frame may have failed. Then its pages may
 * not be read any more, but other channels still need the stream. Zeroes complete the frame, but
 * only after the peer has said that it reads no more DATA: our ABORT goes on another stream, and
 * may come later than the zeroes. Return: false if the caller has to wait for that.
 */
static bool coll_tx_find(struct coll_stream *st, struct coll_tx_source *src)
{
	struct coll_channel *ch = st->tx_ch;
	/* The same op as when the frame was begun: it has transfers left. */
	struct coll_op *op = ch && !st->tx_msg ? coll_ch_sends(ch) : NULL;
	struct coll_msg *msg;

	*src = (struct coll_tx_source){ };
	if (ch && st->tx_msg) {
		msg = coll_msg_sending(ch->link.group, ch->link.peer);
		if (msg && coll_msg_id(msg) == st->tx_msg && !coll_msg_ending(msg)) {
			src->msg = msg;
			src->vec = coll_msg_vec(msg);
			src->at = coll_msg_done(msg);
			return true;
		}
		if (msg)
			coll_msg_put(msg);
	} else if (op) {
		ch->tx_op = op;
		src->step = coll_exec_sending(op->exec, &ch->link);
		src->vec = src->step->src.vec;
		src->at = src->step->src.at + src->step->done;
		return true;
	}
	if (ch && !READ_ONCE(ch->peer_rx_closed))
		return false;
	WRITE_ONCE(st->tx_ch, NULL);
	st->tx_waits = false;
	st->tx_mode = COLL_NL_SEND_MODE_COPY;
	return true;
}

/* Zeroes are due, but the peer has not said yet that it reads no more DATA. */
static void coll_tx_wait(struct coll_stream *st)
{
	if (!st->tx_waits) {
		st->tx_waits = true;
		st->tx_since = jiffies;
	}
	/* The ABORT of the peer wakes the work earlier. */
	if (time_before(jiffies, st->tx_since + COLL_TX_GRACE))
		coll_conn_retry(st->conn);
	else
		coll_tx_break_off(st);
}

static void coll_tx_account(struct coll_stream *st, struct coll_tx_source *src,
			    u32 payload)
{
	struct coll_channel *ch = st->tx_ch;

	if (src->msg) {
		coll_msg_sent(src->msg, payload);
		return;
	}
	trace_coll_segment(ch->facts.id, ch->tx_op->seq, ch->link.peer,
			   src->step - ch->tx_op->exec->steps, src->step->s.kind,
			   src->step->done, payload);
	if (src->step->wire)
		WRITE_ONCE(st->stat.tx_saved, st->stat.tx_saved +
			   payload * (ch->tx_op->elem - src->step->unit) / src->step->unit);
	coll_exec_sent(ch->tx_op->exec, src->step, payload);
	coll_tx_free(ch, ch->tx_op);
}

/* Elements in the type that they have on links. Return: as coll_tx_payload(). */
static int coll_tx_narrowed(struct coll_stream *st, struct coll_tx_source *src,
			    struct bio_vec *bv, unsigned int *nr)
{
	struct coll_channel *ch = st->tx_ch;
	struct coll_exec *x = ch->tx_op->exec;
	u32 skip;
	int ret;

	ret = coll_exec_narrowed(x, src->step, ch->piece, COLL_LOAN_PIECE, st->tx_left, &skip);
	if (ret < 0) {
		coll_exec_failed(x, ret);
		return ret;
	}
	bv->bv_page = virt_to_page(ch->piece);
	bv->bv_offset = offset_in_page(ch->piece) + skip;
	bv->bv_len = ret;
	*nr = 1;
	return ret;
}

/* Pieces of payload, or zeroes. Return: bytes, negative: the memory has gone. */
static int coll_tx_payload(struct coll_stream *st, struct coll_tx_source *src,
			   struct bio_vec *bv, unsigned int max, unsigned int *nr)
{
	int ret;

	*nr = 0;
	if (!st->tx_left)
		return 0;
	if (!st->tx_ch)
		return coll_tx_zeroes(st->tx_left, bv, max, nr);
	if (src->step && src->step->wire)
		return coll_tx_narrowed(st, src, bv, nr);
	ret = coll_vec_bvecs(src->vec, src->at, st->tx_left, bv, max, nr);
	if (ret < 0 && src->msg)
		coll_msg_failed(src->msg, ret);
	else if (ret < 0)
		coll_exec_failed(st->tx_ch->tx_op->exec, ret);
	return ret;
}

/* The header of a loan has been sent: for the op the payload counts as sent. */
static void coll_tx_zerocopied(struct coll_stream *st, struct coll_tx_source *src)
{
	u64 *by = &st->stat.tx_by[COLL_NL_SEND_MODE_SPLICE];

	WRITE_ONCE(st->stat.tx_bytes, st->stat.tx_bytes + st->tx_loan);
	WRITE_ONCE(*by, *by + st->tx_loan);
	coll_tx_account(st, src, st->tx_loan);
	st->tx_loan = 0;
}

/* @bytes of header and payload have been sent. */
static void coll_tx_sent(struct coll_stream *st, struct coll_tx_source *src, u32 bytes)
{
	u32 head_len = st->tx_len - st->tx_off;

	if (bytes < head_len) {
		st->tx_off += bytes;
		return;
	}
	st->tx_off = st->tx_len;
	bytes -= head_len;
	st->tx_left -= bytes;
	if (st->tx_ch && st->tx_loan)
		coll_tx_zerocopied(st, src);
	else if (st->tx_ch && (bytes || st->tx_token))
		coll_tx_account(st, src, bytes);
	if (!st->tx_left) {
		st->tx_token = false;
		st->tx_mode = COLL_NL_SEND_MODE_COPY;
		WRITE_ONCE(st->tx_ch, NULL);
	}
}

/*
 * One sendmsg of the current frame: the rest of its header, then payload.
 * Return: payload and header bytes sent, 0: no room, negative: broken.
 */
static int coll_tx_push(struct coll_stream *st)
{
	struct bio_vec bv[COLL_TX_BVECS];
	u32 head_len = st->tx_len - st->tx_off;
	unsigned int head = 0, nr = 0;
	struct coll_tx_source src;
	int payload, ret;
	bool zerocopy;

	if (!coll_tx_find(st, &src)) {
		coll_tx_wait(st);
		return 0;
	}
	if (head_len)
		coll_tx_head_bvec(st, &bv[head++]);
	zerocopy = st->tx_mode != COLL_NL_SEND_MODE_COPY;
	/* Copy the header: if the socket referred to it, ->tx_buf could not be reused for long. */
	payload = head_len && zerocopy ? 0 :
		coll_tx_payload(st, &src, bv + head, COLL_TX_BVECS - head, &nr);
	ret = payload;
	if (payload >= 0 && zerocopy && !head_len) {
		coll_tx_zerocopy(st->tx_ch);
		ret = coll_tx_ubuf(st, bv, nr, payload, st->tx_left > payload);
	} else if (payload >= 0) {
		ret = coll_tx_send(st, bv, head + nr, head_len + payload,
				   st->tx_left > payload);
	}
	if (nr && st->tx_ch && !(src.step && src.step->wire))
		coll_bvecs_put(src.vec, src.at, bv + head, nr);
	if (ret > 0)
		coll_tx_sent(st, &src, ret);
	if (src.msg)
		coll_msg_put(src.msg);
	return ret;
}

bool coll_tx_data(struct coll_stream *st)
{
	unsigned long end = jiffies + msecs_to_jiffies(COLL_WORK_MS) + 1;
	u32 budget = COLL_WORK_BUDGET;
	int ret;

	lockdep_assert_held(&st->conn->lock);
	/* Small frames take long for few bytes, and coll_tx_next() looks at many channels. */
	while (budget && !time_after(jiffies, end)) {
		if (st->tx_off == st->tx_len && !st->tx_left && !coll_tx_next(st))
			return false;
		ret = coll_tx_push(st);
		if (ret <= 0)
			return false;	/* coll_rx() sees an error of the socket */
		budget -= min_t(u32, budget, ret);
	}
	return true;
}
