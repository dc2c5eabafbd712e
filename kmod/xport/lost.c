// SPDX-License-Identifier: GPL-2.0
/* A stream has ended: is that in order? */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <net/sock.h>

#include "../core/exec/exec.h"
#include "../core/group/failure.h"
#include "../core/group/transport.h"
#include "../core/op/op.h"
#include "../core/p2p/bytes.h"
#include "channel.h"
#include "lost.h"
#include "rx.h"
#include "sock.h"

/* Time a control stream has to explain why its data stream closed. */
#define COLL_LOST_GRACE	(HZ / 20)

/*
 * The data stream has ended: when must the reason be known? If the stream has ended in order, and no
 * op or message waits for it, the peer's last rank has probably left. Then BYE is on its way, but
 * packets of the two streams may overtake each other, and a lost packet is sent again only after
 * 200 ms or more.
 */
static void coll_ch_await_reason_locked(struct coll_channel *ch,
					const struct coll_stream *data)
{
	bool soon = data->error || ch->lost_seq || ch->lost_msg ||
		    ch->byes_got >= coll_ch_peer_ranks(ch);

	lockdep_assert_held(&ch->conn->lock);
	/* A later pass must not restart the shorter delay. */
	if (soon && !ch->lost_soon)
		mod_delayed_work(coll_alarm_wq, &ch->lost, COLL_LOST_GRACE);
	else
		queue_delayed_work(coll_alarm_wq, &ch->lost,
				   soon ? COLL_LOST_GRACE : coll_dead_after() * HZ);
	ch->lost_soon = soon;
}

/*
 * It is in order that the peer's streams close after its last rank has left, if
 * no op or message needs them any more.
 */
void coll_ch_check_lost(struct coll_channel *ch)
{
	struct coll_stream *ctrl = coll_conn_stream(ch->conn, COLL_STRIPE_CTRL);
	struct coll_stream *data = coll_conn_stream(ch->conn, COLL_STRIPE_DATA);
	struct coll_group *g = ch->link.group;
	bool left;

	lockdep_assert_held(&ch->conn->lock);
	if (!(ctrl && ctrl->closed) && !(data && data->closed))
		return;
	left = ch->byes_got >= coll_ch_peer_ranks(ch);
	if (coll_group_error(g) || (left && !ch->lost_seq && !ch->lost_msg))
		return;
	if (!left && ctrl && ctrl->closed)
		coll_ch_fail(ch, COLL_CAUSE_LINK, EHOSTDOWN, coll_ch_now(ch),
			     ctrl->error);
	else if (data && data->closed)
		coll_ch_await_reason_locked(ch, data);
}

void coll_ch_lost(struct work_struct *work)
{
	struct coll_channel *ch = container_of(to_delayed_work(work),
					       struct coll_channel, lost);
	struct coll_group *g = ch->link.group;
	struct coll_stream *data = ch->conn->streams[COLL_STRIPE_DATA];
	u64 lost = READ_ONCE(ch->lost_seq);
	bool must, failing;

	must = READ_ONCE(ch->byes_got) < coll_ch_peer_ranks(ch) ||
	       (READ_ONCE(ch->lost_msg) && coll_ch_talks(ch));
	failing = coll_group_will_fail(g, lost);
	/* Earlier ops may still end well; op @lost, which cannot complete, fails after them. */
	if (!must && !coll_group_error(g) && (failing || lost > coll_ch_now(ch)))
		queue_delayed_work(coll_alarm_wq, &ch->lost, COLL_LOST_GRACE);
	else if (must || coll_group_ended(g) < lost)
		coll_ch_fail_soon(ch, COLL_CAUSE_LINK, EHOSTDOWN, coll_ch_now(ch),
				  data->error);
}
