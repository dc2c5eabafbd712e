// SPDX-License-Identifier: GPL-2.0

#include <linux/err.h>
#include <linux/string.h>
#include <net/sock.h>

#include "../core/exec/exec.h"
#include "../core/group/failure.h"
#include "../core/group/transport.h"
#include "../core/op/op.h"
#include "../core/p2p/bytes.h"
#include "channel.h"
#include "rx.h"
#include "sock.h"

void coll_ch_hello(const struct coll_channel *ch, struct coll_hello *h)
{
	*h = (struct coll_hello){
		.size = ch->facts.size,
		.nr_nodes = ch->facts.nr_nodes,
		.src_node = ch->facts.node,
		.dst_node = ch->link.peer,
		.stripe = ch->link.nr * COLL_STRIPES + COLL_STRIPE_CTRL,
		.wire_min = COLL_WIRE_VERSION,
		.wire_max = COLL_WIRE_VERSION,
		.map = ch->facts.map,
	};
	memcpy(h->name, ch->name, sizeof(h->name));
	memcpy(h->nonce, ch->greet.nonce, sizeof(h->nonce));
}

static void coll_ch_cause(const struct coll_channel *ch, struct coll_cause *cause, u32 kind,
			  int error, u64 seq, u32 code)
{
	coll_group_cause(ch->link.group, cause, kind, error, COLL_RANK_NONE, seq);
	cause->node = ch->link.peer;
	cause->code = code;
}

void coll_ch_fail(struct coll_channel *ch, u32 kind, int error, u64 seq, u32 code)
{
	struct coll_cause cause;

	coll_ch_cause(ch, &cause, kind, error, seq, code);
	coll_group_fail(ch->link.group, &cause);
}

void coll_ch_fail_soon(struct coll_channel *ch, u32 kind, int error, u64 seq, u32 code)
{
	struct coll_cause cause;

	coll_ch_cause(ch, &cause, kind, error, seq, code);
	coll_group_fail_soon(ch->link.group, &cause);
}

void coll_ch_proto(struct coll_channel *ch, u64 seq)
{
	coll_ch_fail(ch, COLL_CAUSE_PROTO, EPROTO, seq, 0);
}

bool coll_ch_expects_msg(const struct coll_channel *ch)
{
	return !ch->link.nr && coll_msg_expects(ch->link.group, ch->link.peer);
}

bool coll_ch_owes(const struct coll_channel *ch)
{
	return !ch->link.nr && coll_msg_owes(ch->link.group, ch->link.peer);
}

bool coll_ch_talks(const struct coll_channel *ch)
{
	return coll_ch_expects_msg(ch) || coll_ch_owes(ch);
}

/* The oldest running op that has a transfer left: @at moves on to it. */
static struct coll_op *coll_ch_oldest(struct coll_channel *ch, u32 *at,
				      bool (*has)(struct coll_exec *x, const struct coll_link *link))
{
	for (; *at < ch->nr_ops; ++*at) {
		struct coll_op *op = ch->ops[*at];

		if (has(op->exec, &ch->link))
			return coll_op_ending(op) ? NULL : op;
	}
	return NULL;
}

struct coll_op *coll_ch_receives(struct coll_channel *ch)
{
	return coll_ch_oldest(ch, &ch->rx_at, coll_exec_receives);
}

struct coll_op *coll_ch_sends(struct coll_channel *ch)
{
	return coll_ch_oldest(ch, &ch->tx_at, coll_exec_sends);
}

u32 coll_ch_peer_ranks(const struct coll_channel *ch)
{
	return coll_group_ranks_of(ch->link.group, ch->link.peer);
}

u64 coll_ch_now(const struct coll_channel *ch)
{
	return coll_group_now(ch->link.group);
}
