// SPDX-License-Identifier: GPL-2.0
/* Messages as they come: offers, answers, bytes. And the walk through socket buffers. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>

#include "../core/group/failure.h"
#include "../core/p2p/bytes.h"
#include "../core/p2p/exchange.h"
#include "../core/p2p/frames.h"
#include "channel.h"
#include "rx.h"
#include "rx_msg.h"

/* A stretch of a buffer's bytes that may overlap the ones wanted. */
static int coll_rx_stretch(struct coll_rx_walk *w, const u8 *data, u32 len)
{
	u32 from = min(w->skip, len);
	u32 n = min(len - from, w->want);

	w->skip -= from;
	w->want -= n;
	return n ? w->feed(w->to, data + from, n) : 0;
}

/*
 * Head, fragments, further buffers. Not skb_seq_read(), which forbids sleeping
 * between its calls: windows of user memory do sleep.
 */
int coll_rx_walk(struct coll_rx_walk *w, struct sk_buff *skb)
{
	struct sk_buff *frag;
	int i, ret;

	ret = coll_rx_stretch(w, skb->data, skb_headlen(skb));
	for (i = 0; !ret && w->want && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *f = &skb_shinfo(skb)->frags[i];

		/* device memory: nobody here can read it */
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

/* Messages come in the order of their CTS, each without a gap. */
bool coll_ch_expects(struct coll_channel *ch, const struct coll_frame *f)
{
	struct coll_msg *msg;
	bool ok;

	if (coll_ch_failed(ch) || ch->rx_lost)
		return false;
	msg = coll_ch_established(ch) && !ch->link.nr ?
		coll_msg_receiving(ch->link.group, ch->link.peer) : NULL;
	ok = msg && f->seq == coll_msg_id(msg) && f->offset == coll_msg_done(msg) &&
	     f->length <= coll_msg_bytes(msg) - coll_msg_done(msg);
	if (msg)
		coll_msg_put(msg);
	if (!ok)
		coll_ch_proto(ch, 0);
	return ok;
}

static int coll_ch_feed_msg(void *to, const u8 *data, u32 len)
{
	return coll_msg_received(to, data, len) ? -ENODATA : 0;
}

int coll_ch_take_msg(struct coll_channel *ch, const struct coll_frame *f,
		     struct sk_buff *skb, u32 off, u32 len)
{
	struct coll_msg *msg = coll_msg_receiving(ch->link.group, ch->link.peer);
	struct coll_rx_walk w = { coll_ch_feed_msg, msg, off, len };
	int ret = -ECANCELED;

	if (!msg)
		return ret;
	if (coll_msg_id(msg) == f->seq && !coll_msg_ending(msg))
		ret = coll_rx_walk(&w, skb);
	if (ret == -ENODATA)
		ch->rx_lost = true;
	coll_msg_put(msg);
	return ret ?: len - w.want;
}

int coll_ch_msg_ctrl(struct coll_channel *ch, const struct coll_frame *f,
		     const u8 *payload)
{
	struct coll_msg_frame m = { .id = f->seq };
	struct coll_group *g = ch->link.group;
	struct coll_cause cause;
	struct coll_rts r;
	int ret;

	if (f->type == COLL_FRAME_CTS) {
		m.kind = COLL_MSG_ANSWER;
		m.error = f->transfer;
	} else if (f->type == COLL_FRAME_CANCEL) {
		m.kind = COLL_MSG_WITHDRAW;
	} else {
		m.kind = COLL_MSG_OFFER;
		if (coll_wire_get_rts(payload, &r))
			return -EPROTO;
		m.source = r.source;
		m.dest = r.dest;
		m.tag = r.tag;
		m.dtype = r.dtype;
		m.bytes = r.bytes;
	}
	ret = coll_msg_got_frame(g, ch->link.peer, &m);
	if (ret != -ENOMEM)
		return ret;
	/* That is no fault of the peer's. */
	coll_group_cause(g, &cause, COLL_CAUSE_MEMORY, ENOMEM, COLL_RANK_NONE, 0);
	cause.node = ch->facts.node;
	coll_group_fail(g, &cause);
	return 0;
}
