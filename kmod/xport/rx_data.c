// SPDX-License-Identifier: GPL-2.0
/* DATA of a channel: finds the step of each frame, and puts the bytes into the step's range. */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>

#include "../core/exec/exec.h"
#include "../core/exec/exec_step.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "../core/trace.h"
#include "channel.h"
#include "conn.h"
#include "rx.h"
#include "rx_data.h"
#include "wake.h"

bool coll_ch_pending(const struct coll_channel *ch)
{
	return ch->rx_state != COLL_CH_IDLE || ch->backlog.len;
}

void coll_ch_take_header(struct coll_channel *ch, const struct coll_frame *f)
{
	ch->rx_frame = *f;
	ch->rx_left = f->length;
	ch->rx_state = COLL_CH_MATCH;
}

/* @n payload bytes have been taken. The last ones end the frame. */
static void coll_ch_took(struct coll_channel *ch, u32 n)
{
	ch->rx_left -= n;
	ch->rx_done += n;
	if (ch->rx_left)
		return;
	ch->rx_done += COLL_WIRE_HDR;
	ch->rx_state = COLL_CH_IDLE;
	if (ch->rx_frame.flags & COLL_FRAME_ACK_NOW)
		ch->rx_ack_now = true;
}

/* May the running ops take bytes? */
static bool coll_ch_runs(const struct coll_channel *ch)
{
	return ch->nr_ops && coll_ch_established(ch) && !coll_ch_failed(ch) && !ch->rx_lost;
}

bool coll_ch_is_ending(const struct coll_channel *ch)
{
	u32 i;

	for (i = 0; i < ch->nr_ops; i++)
		if (coll_op_ending(ch->ops[i]) && !atomic_read(&ch->ops[i]->zc_links))
			return true;
	return false;
}

static void coll_ch_mismatch(struct coll_channel *ch, u64 seq)
{
	coll_ch_fail(ch, COLL_CAUSE_MISMATCH, EBADE, seq, 0);
}

/* A frame that no step expects. Its op may run, may have ended, or may not exist. */
static void coll_ch_unasked(struct coll_channel *ch)
{
	const struct coll_frame *f = &ch->rx_frame;
	u32 i;

	for (i = 0; i < ch->nr_ops; i++)
		if (ch->ops[i]->seq == f->seq && ch->ops[i]->sig != f->signature)
			coll_ch_mismatch(ch, f->seq);
	coll_ch_proto(ch, f->seq);
}

/*
 * Find the step that the DATA frame is for. Every number in the frame is compared with our own
 * schedule before it is used. Return: true if there is such a step. A token is taken at once,
 * unless the step is blocked.
 */
static bool coll_ch_match(struct coll_channel *ch)
{
	const struct coll_frame *f = &ch->rx_frame;
	struct coll_op *op = coll_ch_receives(ch);
	struct coll_exec_step *step;
	bool blocked;
	u64 room;

	if (!op) {
		/* The frame may belong to a later op than those that run. */
		if (ch->rx_at == ch->nr_ops && f->seq <= ch->ops[ch->nr_ops - 1]->seq)
			coll_ch_unasked(ch);
		return false;
	}
	step = coll_exec_recv_step(op->exec, &ch->link, &room, &blocked);
	/* The peer has skipped our op, or its op with this number has another signature. */
	if (f->seq > op->seq ||
	    (f->seq == op->seq && f->signature != coll_exec_signature(op->exec, step))) {
		coll_ch_mismatch(ch, op->seq);
		return false;
	}
	if (f->seq < op->seq) {
		coll_ch_unasked(ch);
		return false;
	}
	if (f->transfer != step->ordinal ||
	    f->offset != step->done + ch->rx_carried ||
	    f->length > step->len - f->offset || !f->length != !step->len) {
		coll_ch_proto(ch, f->seq);
		return false;
	}
	if (f->length) {
		ch->rx_state = COLL_CH_PAYLOAD;
	} else if (!blocked) {
		coll_exec_took(op->exec, step, 0);
		coll_ch_took(ch, 0);
	}
	return true;
}

u64 coll_ch_room(struct coll_channel *ch)
{
	bool blocked;
	u64 room;

	if (!coll_ch_runs(ch))
		return 0;
	if (ch->rx_state == COLL_CH_MATCH && !coll_ch_match(ch))
		return 0;
	if (ch->rx_state != COLL_CH_PAYLOAD)
		return 0;
	/* The same op as when the frame was begun: it has transfers left. */
	ch->rx_op = coll_ch_receives(ch);
	if (!ch->rx_op)
		return 0;
	ch->rx_step = coll_exec_recv_step(ch->rx_op->exec, &ch->link, &room, &blocked);
	return min_t(u64, room - ch->rx_carried, ch->rx_left);
}

bool coll_ch_wants(struct coll_channel *ch)
{
	struct coll_op *op;
	bool blocked;
	u64 room;

	if (!coll_ch_runs(ch) || coll_ch_pending(ch))
		return false;
	op = coll_ch_receives(ch);
	return op && coll_exec_recv_step(op->exec, &ch->link, &room, &blocked) && !blocked;
}

/**
 * struct coll_ch_feed - payload on its way into a step
 * @ch: the channel
 * @folded: bytes behind the watermark that have been folded
 * @atomic: do not sleep
 * @err: error of the fold that failed; or 0
 */
struct coll_ch_feed {
	struct coll_channel *ch;
	u32 folded;
	bool atomic;
	int err;
};

/* Whole elements. */
static int coll_ch_fold(struct coll_ch_feed *feed, const u8 *data, u32 len)
{
	struct coll_channel *ch = feed->ch;
	struct coll_exec_step *step = ch->rx_step;

	feed->err = coll_exec_fold(ch->rx_op->exec, step, ch->sweep, data,
				   step->done + feed->folded, len, feed->atomic);
	if (!feed->err)
		feed->folded += len;
	return feed->err;
}

/*
 * Contiguous payload bytes. A reduction wants whole elements: the part of an element at the end
 * is kept, and completed from the next bytes.
 */
static int coll_ch_take(void *arg, const u8 *data, u32 len)
{
	struct coll_ch_feed *feed = arg;
	struct coll_channel *ch = feed->ch;
	struct coll_exec_step *step = ch->rx_step;
	struct coll_exec *x = ch->rx_op->exec;
	u32 elem = coll_exec_reduces(step) ? step->unit : 1;
	u32 n;
	int ret;

	if (ch->rx_carried) {
		n = min(elem - ch->rx_carried, len);
		memcpy(ch->rx_carry + ch->rx_carried, data, n);
		ch->rx_carried += n;
		data += n;
		len -= n;
		if (ch->rx_carried < elem)
			return 0;
		ch->rx_carried = 0;
		ret = coll_ch_fold(feed, ch->rx_carry, elem);
		if (ret)
			return ret;
	}
	n = len - len % elem;
	if (n) {
		trace_coll_segment(ch->facts.id, ch->rx_op->seq, ch->link.peer,
				   step - x->steps, step->s.kind, step->done + feed->folded, n);
		ret = coll_ch_fold(feed, data, n);
		if (ret)
			return ret;
	}
	if (len > n) {
		ch->rx_carried = len - n;
		memcpy(ch->rx_carry, data + n, ch->rx_carried);
	}
	return 0;
}

/* Move the watermark over the folded bytes; the step may complete. Return: 0 or -errno. */
static int coll_ch_fed(struct coll_ch_feed *feed)
{
	struct coll_channel *ch = feed->ch;
	struct coll_exec *x = ch->rx_op->exec;

	if (feed->err)
		coll_exec_failed(x, feed->err);
	else if (feed->folded)
		coll_exec_took(x, ch->rx_step, feed->folded);
	return feed->err;
}

static int coll_ch_feed(struct coll_channel *ch, const u8 *data, u32 len)
{
	struct coll_ch_feed feed = { .ch = ch };

	coll_ch_take(&feed, data, len);
	return coll_ch_fed(&feed);
}

/* Contiguous bytes of a buffer, which may overlap the wanted part. */
static int coll_rx_stretch(struct coll_rx_walk *w, const u8 *data, u32 len)
{
	u32 from = min(w->skip, len);
	u32 n = min(len - from, w->want);

	w->skip -= from;
	w->want -= n;
	return n ? w->feed(w->to, data + from, n) : 0;
}

/*
 * Head, fragments, further buffers. skb_seq_read() would forbid sleeping between its calls,
 * and access to windows of user memory sleeps.
 */
int coll_rx_walk(struct coll_rx_walk *w, struct sk_buff *skb)
{
	struct sk_buff *frag;
	int i, ret;

	ret = coll_rx_stretch(w, skb->data, skb_headlen(skb));
	for (i = 0; !ret && w->want && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		/* device memory: the CPU cannot read it */
		if (!skb_frag_address_safe(f))
			return -EPROTO;
		ret = coll_rx_stretch(w, skb_frag_address(f), skb_frag_size(f));
	}
	if (ret || !w->want)
		return ret;
	skb_walk_frags(skb, frag) {
		ret = coll_rx_walk(w, frag);
		if (ret || !w->want)
			break;
	}
	return ret;
}

static int coll_ch_feed_op(void *to, const u8 *data, u32 len)
{
	return coll_ch_feed(to, data, len);
}

int coll_ch_take_skb(struct coll_channel *ch, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_rx_walk w = { coll_ch_feed_op, ch, off, len };
	int ret;

	ret = coll_rx_walk(&w, skb);
	/* The executor has reported all other errors. */
	if (ret == -EPROTO)
		return ret;
	if (ret)
		ch->rx_lost = true;
	coll_ch_took(ch, len - w.want);
	return len - w.want;
}

bool coll_ch_may_read_loans(struct coll_channel *ch)
{
	/* Also after the peer has gone: frames that it sent before are legal. */
	return coll_ch_established(ch) && (coll_desk_kin(ch) || ch->kin);
}

bool coll_ch_on_loan(const struct coll_channel *ch)
{
	return ch->rx_state != COLL_CH_IDLE && ch->rx_frame.flags & COLL_FRAME_LOAN;
}

static int coll_ch_copy(void *arg, const u8 *data, u32 len)
{
	u8 **to = arg;

	memcpy(*to, data, len);
	*to += len;
	return 0;
}

/* Copy at most @len bytes, and take them. Return: bytes; 0: they cannot be read or stored. */
static u32 coll_ch_copy_loan(struct coll_channel *ch, u32 done, u32 len)
{
	u8 *to = ch->piece;
	u32 n = coll_loan_read(ch, &ch->rx_frame, done, len, coll_ch_copy, &to);

	return n && !coll_ch_feed(ch, ch->piece, n) ? n : 0;
}

/* The same without a copy. The pages of the step are pinned. */
static u32 coll_ch_fold_loan(struct coll_channel *ch, u32 done, u32 len)
{
	struct coll_ch_feed feed = { .ch = ch, .atomic = true };
	u32 vectors = coll_exec_vectors(ch->rx_op->exec, ch->rx_step), n;

	/* Under desk->lock: with many local ranks each byte is folded and stored many times. */
	len = min(len, max(COLL_LOAN_TOUCHED / vectors, COLL_LOAN_LEAST));
	n = coll_loan_read(ch, &ch->rx_frame, done, len, coll_ch_take, &feed);
	/* Not under desk->lock: other steps may run now, which may sleep. */
	return coll_ch_fed(&feed) ? 0 : n;
}

u32 coll_ch_read_loan(struct coll_channel *ch, u32 most)
{
	struct coll_stream *st = ch->conn->streams[COLL_STRIPE_DATA];
	u32 sum = 0, done, len, n;
	bool pinned;

	lockdep_assert_held(&ch->conn->lock);
	while (coll_ch_on_loan(ch)) {
		len = min_t(u64, most - sum, coll_ch_room(ch));
		if (!len)
			break;
		pinned = coll_exec_is_pinned(ch->rx_op->exec, ch->rx_step);
		if (!pinned && !coll_piece_ready(ch))
			break;
		/* See coll_rx_refuses_loan(): the frame may have come before the last PROOF. */
		if (!coll_ch_may_read_loans(ch)) {
			coll_ch_proto(ch, ch->rx_frame.seq);
			break;
		}
		done = ch->rx_frame.length - ch->rx_left;
		n = pinned ? coll_ch_fold_loan(ch, done, len) : coll_ch_copy_loan(ch, done, len);
		/*
		 * The sender has taken the loan back. Most likely it has failed, and will send
		 * ABORT. Or a stream of it has ended: see coll_ch_starves().
		 */
		if (!n) {
			ch->rx_lost = true;
			break;
		}
		coll_ch_took(ch, n);
		sum += n;
		cond_resched();
	}
	WRITE_ONCE(st->stat.rx_bytes, st->stat.rx_bytes + sum);
	return sum;
}

/* Begin the next frame of the backlog. Its header has been checked. */
static void coll_ch_header_backlog(struct coll_channel *ch)
{
	struct coll_frame f;
	const u8 *head;
	u32 len;

	head = coll_backlog_head(&ch->backlog, &len);
	coll_wire_get_header(head, &f);
	coll_backlog_took(&ch->backlog, COLL_WIRE_HDR);
	coll_ch_take_header(ch, &f);
}

bool coll_ch_drain(struct coll_channel *ch)
{
	u32 budget = COLL_WORK_BUDGET;
	const u8 *data;
	u32 len;

	if (coll_ch_failed(ch)) {
		coll_backlog_free(&ch->backlog);
		return false;
	}
	while (budget && coll_ch_pending(ch)) {
		if (ch->rx_state == COLL_CH_IDLE) {
			/* Headers count, because a token is a header alone. */
			coll_ch_header_backlog(ch);
			budget -= min_t(u32, budget, COLL_WIRE_HDR);
			if (!budget)
				break;
		}
		if (coll_ch_on_loan(ch)) {
			budget -= coll_ch_read_loan(ch, budget);
			if (coll_ch_on_loan(ch))
				return !budget;
			continue;
		}
		data = coll_backlog_head(&ch->backlog, &len);
		len = min(len, budget);
		len = min_t(u64, len, coll_ch_room(ch));
		if (ch->rx_state == COLL_CH_IDLE)
			continue;	/* that was a token */
		if (!len)
			return false;
		if (coll_ch_feed(ch, data, len)) {
			ch->rx_lost = true;
			return false;
		}
		coll_backlog_took(&ch->backlog, len);
		coll_ch_took(ch, len);
		budget -= len;
	}
	return !budget;
}
