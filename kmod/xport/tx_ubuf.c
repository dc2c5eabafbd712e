// SPDX-License-Identifier: GPL-2.0
/*
 * Sending with MSG_ZEROCOPY. Each send has a ubuf. Every socket buffer with pages of the send
 * refers to it. The ubuf comes back when the last of these buffers is freed: when the bytes are
 * acknowledged, or copied, or the stream has been reset.
 *
 * The channel has a ref of the op (coll_tx_zerocopy() of tx_zerocopy.c) while a ubuf is out. So
 * channel and conn live until the count of ubufs is seen as zero; see coll_conn_free() for the
 * moment after that.
 */
#include <linux/bvec.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uio.h>

#include "../compat.h"
#include "../core/exec/exec.h"
#include "../core/op/op.h"
#include "channel.h"
#include "conn.h"
#include "tx_ctrl.h"
#include "tx_ubuf.h"
#include "wake.h"

/**
 * struct coll_ubuf - one send
 * @info: what socket buffers refer to
 * @ch: channel that sends the pages
 * @list: in ch->ubufs_out
 * @at: position of the send among all bytes that the op sends on the link
 * @tells: the op waits for each send to come back, not just for the last one
 * @bytes: bytes that the socket has taken
 * @sent: some went out from the pages
 * @copied: some were copied
 */
struct coll_ubuf {
	struct ubuf_info info;
	struct coll_channel *ch;
	struct list_head list;
	u64 at;
	bool tells;
	u32 bytes;
	bool sent;
	bool copied;
};

static void coll_ubuf_back(struct coll_ubuf *u)
{
	struct coll_channel *ch = u->ch;
	struct coll_conn *conn = ch->conn;
	u64 bytes = u->sent && !u->copied ? u->bytes : 0;
	bool took = u->bytes, first;
	unsigned long flags;
	u32 left;

	spin_lock_irqsave(&conn->ubuf_lock, flags);
	first = u->tells && list_is_first(&u->list, &ch->ubufs_out);
	list_del(&u->list);
	WRITE_ONCE(conn->zerocopied, conn->zerocopied + bytes);
	/* Once another thread sees zero, the channel may be freed: do not use it after this. */
	left = ch->ubufs - 1;
	WRITE_ONCE(ch->ubufs, left);
	/* If the socket had no room, write_space wakes the work later. */
	if ((!left || first) && took)
		coll_conn_kick(conn);
	spin_unlock_irqrestore(&conn->ubuf_lock, flags);
	kfree(u);
}

/*
 * A socket buffer has been freed; or, if @skb is NULL, our own send has ended. Runs in any
 * context, and on several CPUs at once.
 */
static void coll_ubuf_put(struct sk_buff *skb, struct ubuf_info *info, bool success)
{
	struct coll_ubuf *u = container_of(info, struct coll_ubuf, info);

	if (!success)
		WRITE_ONCE(u->copied, true);
	else if (skb)
		WRITE_ONCE(u->sent, true);
	if (refcount_dec_and_test(&info->refcnt))
		coll_ubuf_back(u);
}

static struct coll_ubuf *coll_ubuf_alloc(struct coll_channel *ch)
{
	struct mem_cgroup *memcg = set_active_memcg(ch->facts.memcg);
	struct coll_ubuf *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);

	set_active_memcg(memcg);
	if (!u)
		return NULL;
	refcount_set(&u->info.refcnt, 1);
	u->info.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	coll_ubuf_set(&u->info, coll_ubuf_put);
	u->ch = ch;
	u->at = coll_exec_sent_bytes(ch->tx_op->exec, &ch->link);
	u->tells = coll_exec_tallies(ch->tx_op->exec);
	spin_lock_irq(&ch->conn->ubuf_lock);
	list_add_tail(&u->list, &ch->ubufs_out);
	WRITE_ONCE(ch->ubufs, ch->ubufs + 1);
	spin_unlock_irq(&ch->conn->ubuf_lock);
	return u;
}

u64 coll_ubuf_first(struct coll_channel *ch)
{
	const struct coll_ubuf *u;
	u64 at = U64_MAX;

	lockdep_assert_held(&ch->conn->lock);
	spin_lock_irq(&ch->conn->ubuf_lock);
	u = list_first_entry_or_null(&ch->ubufs_out, struct coll_ubuf, list);
	if (u)
		at = u->at;
	spin_unlock_irq(&ch->conn->ubuf_lock);
	return at;
}

int coll_tx_ubuf(struct coll_stream *st, struct bio_vec *bv, unsigned int nr,
		 u32 bytes, bool more)
{
	struct coll_ubuf *u = coll_ubuf_alloc(st->tx_ch);
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY |
			     (more ? MSG_MORE : 0),
	};
	int ret;

	if (!u)
		return coll_tx_send(st, bv, nr, bytes, more);
	msg.msg_ubuf = &u->info;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, bytes);
	ret = coll_tx_result(st, sock_sendmsg(st->sock, &msg), COLL_NL_SEND_MODE_UBUF);
	u->bytes = max(ret, 0);
	coll_ubuf_put(NULL, &u->info, true);
	return ret;
}
