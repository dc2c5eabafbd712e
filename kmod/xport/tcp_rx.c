// SPDX-License-Identifier: GPL-2.0
#include <crypto/algapi.h>
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "../core/exec.h"
#include "../core/group.h"
#include "../core/limits.h"
#include "../core/op.h"
#include "../core/trace.h"
#include "tcp.h"

/**
 * struct coll_rx - one call of tcp_read_sock()
 * @st: stream
 * @op: running op with a use, or NULL
 * @budget: bytes that may still be read
 * @stop: leave the rest in the socket
 */
struct coll_rx {
	struct coll_stream *st;
	struct coll_op *op;
	u32 budget;
	bool stop;
};

static void coll_rx_proto(struct coll_rx *rx)
{
	coll_tcp_fail(rx->st->link, COLL_CAUSE_PROTO, EPROTO,
		      rx->st->rx_frame.seq, 0);
	rx->stop = true;
}

static void coll_rx_next_frame(struct coll_stream *st)
{
	st->rx_have = 0;
	st->rx_state = COLL_RX_HEADER;
	WRITE_ONCE(st->stat.rx_frames, st->stat.rx_frames + 1);
}

/* The peer must know our key, our place, and speak our version. */
static int coll_rx_hello(struct coll_stream *st)
{
	const struct coll_group *g = st->link->link.group;
	struct coll_hello h;
	int ret;

	if (st->greeted)
		return -EPROTO;
	ret = coll_wire_get_hello(st->rx_buf + COLL_WIRE_HDR, &h);
	if (ret)
		return ret;
	ret = crypto_memneq(h.key, g->key, sizeof(h.key)) ? -EPROTO : 0;
	memzero_explicit(h.key, sizeof(h.key));
	if (ret || h.size != g->size || h.nr_nodes != g->nr_nodes ||
	    h.src_node != st->link->link.peer || h.dst_node != g->node ||
	    h.stripe != st->stripe || h.wire_min > COLL_WIRE_VERSION ||
	    h.wire_max < COLL_WIRE_VERSION)
		return -EPROTO;
	WRITE_ONCE(st->greeted, true);
	WRITE_ONCE(st->stat.state, COLL_NL_LINK_STATE_UP);
	return 0;
}

static int coll_rx_bye(struct coll_stream *st)
{
	struct coll_tcp_link *tl = st->link;
	const struct coll_group *g = tl->link.group;
	struct coll_bye b;

	if (coll_wire_get_bye(st->rx_buf + COLL_WIRE_HDR, &b) ||
	    b.rank >= g->size || g->node_of[b.rank] != tl->link.peer)
		return -EPROTO;
	WRITE_ONCE(tl->byes_got, tl->byes_got + 1);
	coll_group_remote_bye(tl->link.group, b.rank, b.seq);
	return 0;
}

static int coll_rx_abort(struct coll_stream *st)
{
	struct coll_cause c;

	if (coll_wire_get_abort(st->rx_buf + COLL_WIRE_HDR, &c) || !c.error ||
	    c.error > 4095)
		return -EPROTO;
	if (c.kind == COLL_CAUSE_CLOSE)
		coll_group_doom(st->link->link.group, &c);
	else
		coll_group_fail(st->link->link.group, &c);
	return 0;
}

/* The peer waits in an op: coll_tcp_check_post() holds it against ours. */
static int coll_rx_post(struct coll_stream *st)
{
	struct coll_tcp_link *tl = st->link;

	if (st->rx_frame.seq <= tl->peer_seq)
		return -EPROTO;
	tl->peer_sig = st->rx_frame.signature;
	WRITE_ONCE(tl->peer_seq, st->rx_frame.seq);
	return 0;
}

/* A control frame is whole. */
static int coll_rx_ctrl(struct coll_stream *st)
{
	switch (st->rx_frame.type) {
	case COLL_FRAME_HELLO:
		return coll_rx_hello(st);
	case COLL_FRAME_BYE:
		return coll_rx_bye(st);
	case COLL_FRAME_ABORT:
		return coll_rx_abort(st);
	case COLL_FRAME_POST:
		return coll_rx_post(st);
	default:
		return -EPROTO;
	}
}

/* A header is whole: may a frame like this come here and now? */
static int coll_rx_header(struct coll_stream *st)
{
	const struct coll_group *g = st->link->link.group;
	struct coll_frame *f = &st->rx_frame;
	bool data, hello;

	if (coll_wire_get_header(st->rx_buf, f))
		return -EPROTO;
	if (f->comm != coll_wire_comm(g->key) || f->epoch != g->epoch)
		return -EPROTO;
	data = f->type == COLL_FRAME_DATA;
	hello = f->type == COLL_FRAME_HELLO;
	if (hello == st->greeted)
		return -EPROTO;
	if (!hello && data != (st->stripe == COLL_STRIPE_DATA))
		return -EPROTO;
	st->rx_left = f->length;
	st->rx_state = data ? COLL_RX_MATCH : COLL_RX_CTRL;
	return 0;
}

/*
 * Which step is the DATA frame for? Every number in it is held against what
 * our own schedule expects, before any of it is used.
 */
static void coll_rx_match(struct coll_rx *rx)
{
	struct coll_stream *st = rx->st;
	const struct coll_frame *f = &st->rx_frame;
	struct coll_exec_step *step;
	bool blocked;
	u64 room;

	/* Not posted yet, or not its turn: the bytes stay in the socket. */
	if (!rx->op || coll_op_ending(rx->op)) {
		rx->stop = true;
		return;
	}
	step = coll_exec_recv_step(rx->op->exec, st->link->link.peer, &room,
				   &blocked);
	if (f->seq == rx->op->seq &&
	    f->signature != (step ? coll_exec_signature(rx->op->exec, step) :
				    rx->op->sig)) {
		coll_tcp_fail(st->link, COLL_CAUSE_MISMATCH, EBADE, f->seq, 0);
		rx->stop = true;
		return;
	}
	/* In order: what a later op sends, this one does not get any more. */
	if (f->seq > rx->op->seq && !step) {
		rx->stop = true;
		return;
	}
	if (f->seq != rx->op->seq || !step || f->transfer != step->ordinal ||
	    f->offset != step->done + st->rx_carried ||
	    f->length > step->len - f->offset || !f->length != !step->len) {
		coll_rx_proto(rx);
		return;
	}
	if (f->length) {
		st->rx_state = COLL_RX_PAYLOAD;
		return;
	}
	if (blocked) {
		rx->stop = true;
		return;
	}
	coll_exec_recv(rx->op->exec, step, st->link->sweep, NULL, 0);
	coll_rx_next_frame(st);
}

/*
 * Contiguous payload bytes. A reduction wants whole elements: what is left of
 * the last one is kept, and completed from the next bytes.
 */
static int coll_rx_feed(struct coll_rx *rx, struct coll_exec_step *step,
			const u8 *data, u32 len)
{
	struct coll_exec *x = rx->op->exec;
	struct coll_stream *st = rx->st;
	u32 elem = coll_exec_reduces(step) ? step->unit : 1;
	u32 n;
	int ret;

	if (st->rx_carried) {
		n = min(elem - st->rx_carried, len);
		memcpy(st->rx_carry + st->rx_carried, data, n);
		st->rx_carried += n;
		data += n;
		len -= n;
		if (st->rx_carried < elem)
			return 0;
		st->rx_carried = 0;
		ret = coll_exec_recv(x, step, st->link->sweep, st->rx_carry, elem);
		if (ret)
			return ret;
	}
	n = len - len % elem;
	if (n) {
		trace_coll_segment(rx->op->group->id, rx->op->seq,
				   st->link->link.peer, step - x->steps,
				   step->s.kind, step->done, n);
		ret = coll_exec_recv(x, step, st->link->sweep, data, n);
		if (ret)
			return ret;
	}
	if (len > n) {
		st->rx_carried = len - n;
		memcpy(st->rx_carry, data + n, st->rx_carried);
	}
	return 0;
}

/* A stretch of a buffer's bytes that may overlap the ones wanted. */
static int coll_rx_stretch(struct coll_rx *rx, struct coll_exec_step *step,
			   const u8 *data, u32 len, u32 *skip, u32 *want)
{
	u32 from = min(*skip, len);
	u32 n = min(len - from, *want);

	*skip -= from;
	*want -= n;
	return n ? coll_rx_feed(rx, step, data + from, n) : 0;
}

/*
 * Feed @want bytes of a buffer, after @skip ones: head, fragments, further
 * buffers. Not skb_seq_read(), which forbids sleeping between its calls:
 * windows of user memory do sleep.
 */
static int coll_rx_skb(struct coll_rx *rx, struct coll_exec_step *step,
		       struct sk_buff *skb, u32 *skip, u32 *want)
{
	struct sk_buff *frag;
	int i, ret;

	ret = coll_rx_stretch(rx, step, skb->data, skb_headlen(skb), skip, want);
	for (i = 0; !ret && *want && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		/* device memory: nobody here can read it */
		if (!skb_frag_address_safe(f))
			return -EPROTO;
		ret = coll_rx_stretch(rx, step, skb_frag_address(f),
				      skb_frag_size(f), skip, want);
	}
	if (ret || !*want)
		return ret;
	skb_walk_frags(skb, frag) {
		ret = coll_rx_skb(rx, step, frag, skip, want);
		if (ret || !*want)
			break;
	}
	return ret;
}

/* Payload in a socket buffer: reduce it where it lies. Return: bytes taken. */
static u32 coll_rx_payload(struct coll_rx *rx, struct sk_buff *skb, u32 off,
			   u32 len)
{
	struct coll_stream *st = rx->st;
	struct coll_exec_step *step;
	bool blocked;
	u32 want;
	u64 room;
	int ret;

	if (!rx->op || coll_op_ending(rx->op)) {
		rx->stop = true;
		return 0;
	}
	step = coll_exec_recv_step(rx->op->exec, st->link->link.peer, &room,
				   &blocked);
	len = min3(len, st->rx_left, rx->budget);
	len = min_t(u64, len, room - st->rx_carried);
	if (!len) {
		rx->stop = true;
		return 0;
	}
	want = len;
	ret = coll_rx_skb(rx, step, skb, &off, &want);
	/* What else may go wrong has been reported by the executor. */
	if (ret == -EPROTO)
		coll_rx_proto(rx);
	else if (ret)
		rx->stop = true;
	len -= want;
	st->rx_left -= len;
	rx->budget -= len;
	if (!st->rx_left)
		coll_rx_next_frame(st);
	return len;
}

/* Collect up to @want bytes in rx_buf. Return: bytes taken. */
static u32 coll_rx_collect(struct coll_stream *st, struct sk_buff *skb, u32 off,
			   u32 len, u32 want)
{
	u32 n = min(len, want - st->rx_have);

	if (skb_copy_bits(skb, off, st->rx_buf + st->rx_have, n))
		return 0;
	st->rx_have += n;
	return n;
}

static void coll_rx_ctrl_whole(struct coll_rx *rx)
{
	if (coll_rx_ctrl(rx->st))
		coll_rx_proto(rx);
	coll_rx_next_frame(rx->st);
}

/* One step of the state machine. Return: bytes taken. */
static u32 coll_rx_step(struct coll_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_stream *st = rx->st;
	u32 want = COLL_WIRE_HDR;
	u32 n;

	switch (st->rx_state) {
	case COLL_RX_HEADER:
		n = coll_rx_collect(st, skb, off, len, want);
		if (st->rx_have < want)
			return n;
		if (coll_rx_header(st))
			coll_rx_proto(rx);
		/* No byte need follow a token or a POST. */
		else if (st->rx_state == COLL_RX_MATCH)
			coll_rx_match(rx);
		else if (!st->rx_left)
			coll_rx_ctrl_whole(rx);
		return n;
	case COLL_RX_CTRL:
		want += st->rx_frame.length;
		n = coll_rx_collect(st, skb, off, len, want);
		if (st->rx_have == want)
			coll_rx_ctrl_whole(rx);
		return n;
	case COLL_RX_MATCH:
		coll_rx_match(rx);
		return 0;
	default:
		return coll_rx_payload(rx, skb, off, len);
	}
}

static int coll_rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
			 unsigned int off, size_t len)
{
	struct coll_rx *rx = desc->arg.data;
	u32 taken = 0;

	while (taken < len && !rx->stop) {
		enum coll_rx_state before = rx->st->rx_state;
		u32 n = coll_rx_step(rx, skb, off + taken, len - taken);

		/* Bytes that cannot be read, as of device memory: no progress. */
		if (!n && !rx->stop && rx->st->rx_state == before)
			coll_rx_proto(rx);
		taken += n;
		if (!rx->budget)
			rx->stop = true;
	}
	if (rx->stop)
		desc->count = 0;
	WRITE_ONCE(rx->st->stat.rx_bytes, rx->st->stat.rx_bytes + taken);
	return taken;
}

/* The peer has ended the stream, or the network has. Under the socket lock. */
static bool coll_rx_ended(const struct sock *sk)
{
	if (READ_ONCE(sk->sk_err))
		return true;
	return sk->sk_shutdown & RCV_SHUTDOWN &&
	       skb_queue_empty(&sk->sk_receive_queue);
}

bool coll_stream_rx(struct coll_stream *st, struct coll_op *op)
{
	struct coll_rx rx = {
		.st = st, .op = op, .budget = COLL_WORK_BUDGET,
	};
	read_descriptor_t desc = { .arg.data = &rx, .count = 1 };
	struct sock *sk = st->sock->sk;

	lock_sock(sk);
	/* The op that a frame has been waiting for may have come. */
	if (st->rx_state == COLL_RX_MATCH)
		coll_rx_match(&rx);
	if (!rx.stop)
		tcp_read_sock(sk, &desc, coll_rx_actor);
	if (!st->closed && coll_rx_ended(sk)) {
		st->error = READ_ONCE(sk->sk_err) ?: st->error;
		WRITE_ONCE(st->stat.state, COLL_NL_LINK_STATE_DOWN);
		WRITE_ONCE(st->closed, true);
	}
	release_sock(sk);
	return !rx.budget;
}
