// SPDX-License-Identifier: GPL-2.0
/* Messages as they come: offers, answers, bytes. */
#include <linux/errno.h>
#include <linux/skbuff.h>

#include "../core/p2p/bytes.h"
#include "../core/p2p/exchange.h"
#include "../core/p2p/frames.h"
#include "channel.h"
#include "rx.h"
#include "rx_data.h"
#include "rx_msg.h"

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
	struct coll_rts r;

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
	return coll_msg_got_frame(ch->link.group, ch->link.peer, &m);
}
