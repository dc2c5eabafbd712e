// SPDX-License-Identifier: GPL-2.0
#include <crypto/algapi.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/exec/exec.h"
#include "../core/mem/buf.h"
#include "../core/op/op.h"
#include "channel.h"
#include "conn.h"
#include "loan.h"
#include "wake.h"

/*
 * All desks. Lookups are rare: one for each channel. A user may have many thousands of desks, so each
 * bucket has a lock of its own, and no user can choose the bucket.
 */
#define COLL_DESK_BITS	10
static struct hlist_bl_head coll_desks[1 << COLL_DESK_BITS];

/**
 * struct coll_loan - payload of one frame
 * @list: in desk->loans
 * @vec: where the payload lies. The op holds the buffer, and does not end before the loan.
 * @at: offset of the payload in @vec
 * @seq: op; @seq, @offset and @transfer are as in the frame
 * @offset: of the payload in its transfer
 * @transfer: ordinal of the transfer
 * @length: bytes
 * @done: bytes of @length that have been read
 * @sent: position of the payload among all bytes that the op sends on the link
 * @tells: the op waits for the end of each loan, not just for that of the last one
 */
struct coll_loan {
	struct list_head list;
	struct coll_vec vec;
	u64 at;
	u64 seq;
	u64 offset;
	u32 transfer;
	u32 length;
	u32 done;
	u64 sent;
	bool tells;
};

/* The bucket of the desk of @node, for its link number @nr to @peer. */
static struct hlist_bl_head *coll_desk_bucket(u64 comm, u32 epoch, u32 node, u32 peer, u32 nr)
{
	const u32 words[] = { lower_32_bits(comm), upper_32_bits(comm), epoch, node, peer, nr };
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return &coll_desks[jhash2(words, ARRAY_SIZE(words), seed) >> (32 - COLL_DESK_BITS)];
}

static struct hlist_bl_head *coll_desk_own_bucket(const struct coll_channel *ch)
{
	const struct coll_desk *d = ch->desk;

	return coll_desk_bucket(ch->comm, d->epoch, d->node, d->peer, d->nr);
}

/* The bucket of the desk of the other end. */
static struct hlist_bl_head *coll_desk_kin_bucket(const struct coll_channel *ch)
{
	const struct coll_desk *d = ch->desk;

	return coll_desk_bucket(ch->comm, d->epoch, d->peer, d->node, d->nr);
}

static void coll_desk_free(struct kref *ref)
{
	kfree_sensitive(container_of(ref, struct coll_desk, ref));
}

int coll_desk_alloc(struct coll_channel *ch)
{
	struct coll_desk *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);

	if (!d)
		return -ENOMEM;
	kref_init(&d->ref);
	spin_lock_init(&d->lock);
	INIT_LIST_HEAD(&d->loans);
	memcpy(d->key, ch->facts.key, sizeof(d->key));
	memcpy(d->nonce, ch->greet.nonce, sizeof(d->nonce));
	d->epoch = ch->facts.epoch;
	d->node = ch->facts.node;
	d->peer = ch->link.peer;
	d->nr = ch->link.nr;
	d->ch = ch;
	ch->desk = d;
	return 0;
}

void coll_desk_open(struct coll_channel *ch)
{
	struct hlist_bl_head *b = coll_desk_own_bucket(ch);

	hlist_bl_lock(b);
	hlist_bl_add_head(&ch->desk->list, b);
	hlist_bl_unlock(b);
}

/* Under desk->lock. */
static void coll_loans_drop_locked(struct coll_desk *d)
{
	struct coll_loan *loan, *next;

	lockdep_assert_held(&d->lock);
	list_for_each_entry_safe(loan, next, &d->loans, list) {
		list_del(&loan->list);
		kfree(loan);
	}
}

void coll_desk_close(struct coll_channel *ch)
{
	struct hlist_bl_head *b = coll_desk_own_bucket(ch);
	struct coll_desk *d = ch->desk;

	hlist_bl_lock(b);
	hlist_bl_del_init(&d->list);
	hlist_bl_unlock(b);
	spin_lock(&d->lock);
	coll_loans_drop_locked(d);
	d->ch = NULL;
	spin_unlock(&d->lock);
	kref_put(&d->ref, coll_desk_free);
	if (ch->kin)
		kref_put(&ch->kin->ref, coll_desk_free);
}

/* @nonce: of the HELLO of the other end. */
static bool coll_desk_is_kin(const struct coll_desk *mine, const struct coll_desk *d,
			     const u8 *nonce)
{
	return d->epoch == mine->epoch && d->node == mine->peer && d->peer == mine->node &&
	       d->nr == mine->nr && !memcmp(d->nonce, nonce, sizeof(d->nonce)) &&
	       !crypto_memneq(d->key, mine->key, sizeof(d->key));
}

/* The desk is found at the first try or never: the other end opens it before it sends HELLO. */
static struct coll_desk *coll_desk_find(const struct coll_channel *ch)
{
	const struct coll_stream *ctrl = coll_conn_stream(ch->conn, COLL_STRIPE_CTRL);
	const struct coll_greet *greet = ch->shared ? &ch->greet : &ctrl->greet;
	struct hlist_bl_head *b = coll_desk_kin_bucket(ch);
	struct coll_desk *d, *found = NULL;
	struct hlist_bl_node *pos;

	hlist_bl_lock(b);
	hlist_bl_for_each_entry(d, pos, b, list) {
		if (!coll_desk_is_kin(ch->desk, d, greet->peer.nonce))
			continue;
		found = d;
		kref_get(&d->ref);
		break;
	}
	hlist_bl_unlock(b);
	return found;
}

struct coll_desk *coll_desk_kin(struct coll_channel *ch)
{
	lockdep_assert_held(&ch->conn->lock);
	if (!ch->kin_sought) {
		ch->kin = coll_desk_find(ch);
		ch->kin_sought = true;
	}
	return ch->kin && READ_ONCE(ch->kin->ch) ? ch->kin : NULL;
}

bool coll_loan_add(struct coll_channel *ch, const struct coll_frame *f,
		   const struct coll_vec *vec, u64 at)
{
	struct coll_exec *x = ch->tx_op->exec;
	struct mem_cgroup *memcg = set_active_memcg(ch->facts.memcg);
	struct coll_loan *loan = kzalloc(sizeof(*loan), GFP_KERNEL_ACCOUNT);
	struct coll_desk *d = ch->desk;

	set_active_memcg(memcg);
	lockdep_assert_held(&ch->conn->lock);
	if (!loan)
		return false;
	loan->vec = *vec;
	loan->at = at;
	loan->seq = f->seq;
	loan->offset = f->offset;
	loan->transfer = f->transfer;
	loan->length = f->length;
	loan->sent = coll_exec_sent_bytes(x, &ch->link);
	loan->tells = coll_exec_tallies(x);
	spin_lock(&d->lock);
	list_add_tail(&loan->list, &d->loans);
	spin_unlock(&d->lock);
	return true;
}

void coll_loan_recall(struct coll_channel *ch)
{
	lockdep_assert_held(&ch->conn->lock);
	spin_lock(&ch->desk->lock);
	coll_loans_drop_locked(ch->desk);
	spin_unlock(&ch->desk->lock);
}

bool coll_loan_any(const struct coll_channel *ch)
{
	lockdep_assert_held(&ch->conn->lock);
	return coll_loan_first(ch) != U64_MAX;
}

u64 coll_loan_first(const struct coll_channel *ch)
{
	const struct coll_loan *loan;
	u64 sent = U64_MAX;

	lockdep_assert_held(&ch->conn->lock);
	spin_lock(&ch->desk->lock);
	loan = list_first_entry_or_null(&ch->desk->loans, struct coll_loan, list);
	if (loan)
		sent = loan->sent;
	spin_unlock(&ch->desk->lock);
	return sent;
}

/* Under desk->lock. */
static struct coll_loan *coll_loan_find_locked(struct coll_desk *d, const struct coll_frame *f)
{
	struct coll_loan *loan;

	lockdep_assert_held(&d->lock);
	/* The first loan matches unless a loan was taken back: frames come in order. */
	list_for_each_entry(loan, &d->loans, list)
		if (loan->seq == f->seq && loan->transfer == f->transfer &&
		    loan->offset == f->offset && loan->length == f->length)
			return loan;
	return NULL;
}

/* Under desk->lock. @len bytes have been read. The last ones end the loan. */
static void coll_loan_took_locked(struct coll_desk *d, struct coll_loan *loan, u32 len)
{
	lockdep_assert_held(&d->lock);
	loan->done += len;
	if (loan->done < loan->length)
		return;
	list_del(&loan->list);
	/*
	 * The op, or a tensor of it, may end now. The channel is there: a closed desk has no
	 * loans.
	 */
	if (list_empty(&d->loans) || loan->tells)
		coll_conn_kick(d->ch->conn);
	kfree(loan);
}

/* Under desk->lock. The buffer has pages, so that nothing here can sleep. */
static bool coll_loan_feed_locked(const struct coll_desk *d, const struct coll_loan *loan, u32 len,
				  coll_loan_fn *fn, void *arg)
{
	struct coll_run run;
	u32 n;

	lockdep_assert_held(&d->lock);
	for (n = 0; n < len; n += run.len)
		if (coll_vec_run(&loan->vec, loan->at + loan->done + n, len - n, &run) ||
		    fn(arg, run.addr, run.len))
			return false;
	return true;
}

u32 coll_loan_read(struct coll_channel *ch, const struct coll_frame *f, u32 done, u32 len,
		   coll_loan_fn *fn, void *arg)
{
	struct coll_desk *d = ch->kin;
	struct coll_loan *loan;

	lockdep_assert_held(&ch->conn->lock);
	len = min_t(u32, len, COLL_LOAN_PIECE);
	spin_lock(&d->lock);
	loan = coll_loan_find_locked(d, f);
	if (!loan || loan->done != done || len > loan->length - done ||
	    !coll_loan_feed_locked(d, loan, len, fn, arg))
		len = 0;
	else
		coll_loan_took_locked(d, loan, len);
	spin_unlock(&d->lock);
	return len;
}

bool coll_piece_ready(struct coll_channel *ch)
{
	struct mem_cgroup *memcg;

	lockdep_assert_held(&ch->conn->lock);
	if (!ch->piece) {
		/* The caller may be a worker, which belongs to no control group of the user. */
		memcg = set_active_memcg(ch->facts.memcg);
		ch->piece = kmalloc(COLL_LOAN_PIECE, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		set_active_memcg(memcg);
	}
	if (!ch->piece)
		coll_conn_retry(ch->conn);
	return ch->piece;
}
