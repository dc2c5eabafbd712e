// SPDX-License-Identifier: GPL-2.0
/* Bytes of messages between nodes, as links see them. */

#include "../group/group.h"
#include "bytes.h"
#include "exchange.h"
#include "state.h"

/* The first message of a queue, with a ref; NULL: there is none, or it has ended. */
static struct coll_msg *coll_msg_first(struct coll_group *g, struct list_head *queue)
{
	struct coll_msg *msg;

	spin_lock(&g->lock);
	msg = list_first_entry_or_null(queue, struct coll_msg, in_peer);
	if (msg && !coll_msg_tryget(msg))
		msg = NULL;
	spin_unlock(&g->lock);
	return msg;
}

struct coll_msg *coll_msg_sending(struct coll_group *g, u32 peer)
{
	return coll_msg_first(g, &g->msgs->peers[peer].sends);
}

struct coll_msg *coll_msg_receiving(struct coll_group *g, u32 peer)
{
	return coll_msg_first(g, &g->msgs->peers[peer].recvs);
}

bool coll_msg_expects(const struct coll_group *g, u32 peer)
{
	return !list_empty_careful(&g->msgs->peers[peer].recvs);
}

bool coll_msg_owes(const struct coll_group *g, u32 peer)
{
	return !list_empty_careful(&g->msgs->peers[peer].sends);
}

u64 coll_msg_id(const struct coll_msg *msg)
{
	return msg->id;
}

u64 coll_msg_done(const struct coll_msg *msg)
{
	return msg->done;
}

u64 coll_msg_bytes(const struct coll_msg *msg)
{
	return msg->bytes;
}

const struct coll_vec *coll_msg_vec(const struct coll_msg *msg)
{
	return &msg->vec;
}

/* A message leaves its queue when all its bytes have moved: it may end much later. */
static void coll_msg_moved(struct coll_msg *msg, u32 len)
{
	struct coll_group *g = msg->x->g;

	msg->done += len;
	if (msg->done < msg->bytes)
		return;
	spin_lock(&g->lock);
	list_del_init(&msg->in_peer);
	spin_unlock(&g->lock);
	coll_msg_finish(msg, 0);
}

void coll_msg_sent(struct coll_msg *msg, u32 len)
{
	coll_msg_moved(msg, len);
}

int coll_msg_received(struct coll_msg *msg, const void *data, u32 len)
{
	int ret = coll_vec_copy(&msg->vec, msg->done, (void *)data, len, true);

	if (ret)
		coll_msg_failed(msg, ret);
	else
		coll_msg_moved(msg, len);
	return ret;
}
