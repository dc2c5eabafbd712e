// SPDX-License-Identifier: GPL-2.0
/* The part of the executor that links use: the next step to receive or to send. */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../group/group.h"
#include "../group/link.h"
#include "../limits.h"
#include "exec.h"
#include "exec_step.h"
#include "helper.h"
#include "kick.h"
#include "tally.h"

u32 coll_exec_awaited(const struct coll_exec *x)
{
	u32 node = COLL_RANK_NONE;
	u32 i;

	for (i = 0; i < x->nr_peers; i++) {
		const struct coll_exec_peer *p = &x->peers[i];
		const struct coll_link *link;

		if (READ_ONCE(p->recv) == COLL_DEP_NONE)
			continue;
		link = coll_group_link(x->op->group, p->peer, p->link);
		if (link->ops->posted(link) < x->op->seq)
			return p->peer;
		if (node == COLL_RANK_NONE)
			node = p->peer;
	}
	return node;
}

static struct coll_exec_peer *coll_exec_peer(struct coll_exec *x, u32 peer, u32 link)
{
	u32 lo = 0, hi = x->nr_peers;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		const struct coll_exec_peer *p = &x->peers[mid];

		if (p->peer < peer || (p->peer == peer && p->link < link))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->nr_peers && x->peers[lo].peer == peer && x->peers[lo].link == link ?
		&x->peers[lo] : NULL;
}

bool coll_exec_receives(struct coll_exec *x, const struct coll_link *link)
{
	const struct coll_exec_peer *p = coll_exec_peer(x, link->peer, link->nr);

	return p && p->recv != COLL_DEP_NONE;
}

bool coll_exec_sends(struct coll_exec *x, const struct coll_link *link)
{
	const struct coll_exec_peer *p = coll_exec_peer(x, link->peer, link->nr);

	return p && p->send != COLL_DEP_NONE;
}

struct coll_exec_step *coll_exec_recv_step(struct coll_exec *x,
					   const struct coll_link *link,
					   u64 *room, bool *blocked)
{
	struct coll_exec_peer *p = coll_exec_peer(x, link->peer, link->nr);
	struct coll_exec_step *st;
	u64 limit;
	bool open;

	*blocked = false;
	if (!p || p->recv == COLL_DEP_NONE)
		return NULL;
	st = &x->steps[p->recv];
	limit = coll_step_limit(x, st, &open);
	*room = limit - st->done;
	*blocked = !open || (st->len && !*room);
	return st;
}

/*
 * Is a kick due, now that the watermark has moved on from @before? Bytes come page by page, and
 * each kick may wake a thread. Links send no frame of less than COLL_SEGMENT_MIN before the end of
 * a step. So a kick is due after each half of COLL_SEGMENT_MIN, and at the end.
 */
static bool coll_exec_tells(const struct coll_exec *x, const struct coll_exec_step *st,
			    u64 before)
{
	u64 segment = x->op->cmd.segment ?: COLL_SEGMENT;
	u64 grain = max(min_t(u64, segment, COLL_SEGMENT_MIN) / 2, 1ULL);

	return st->done == st->len || div64_u64(before, grain) != div64_u64(st->done, grain);
}

static bool coll_vecs_pinned(const struct coll_vec *vec, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (!coll_buf_is_pinned(vec[i].buf))
			return false;
	return true;
}

u32 coll_exec_vectors(const struct coll_exec *x, const struct coll_exec_step *st)
{
	const struct coll_part *part = &x->parts[st->part];

	return 1 + part->nr_in + part->nr_out + !!st->dst.vec + !!st->with.vec;
}

bool coll_exec_is_pinned(const struct coll_exec *x, const struct coll_exec_step *st)
{
	const struct coll_part *part = &x->parts[st->part];

	return coll_vecs_pinned(part->in, part->nr_in) &&
	       coll_vecs_pinned(part->out, part->nr_out) &&
	       coll_vecs_pinned(st->dst.vec, !!st->dst.vec) &&
	       coll_vecs_pinned(st->with.vec, !!st->with.vec);
}

int coll_exec_fold(struct coll_exec *x, const struct coll_exec_step *st, struct coll_sweep *sw,
		   const void *data, u64 at, u32 len, bool atomic)
{
	struct coll_sweep_args args;
	u32 unit;

	coll_step_args(x, st, &args);
	args.atomic = atomic;
	unit = args.reducer || args.wire ? st->unit : 1;
	return coll_sweep(sw, &args, data, at / unit, len / unit);
}

void coll_exec_took(struct coll_exec *x, struct coll_exec_step *st, u32 len)
{
	u64 before = st->done;
	struct coll_exec_peer *p;

	if (len) {
		coll_step_advance(st, len);
		if (x->tally)
			coll_tally_count(x, st, before, st->done);
	}
	if (st->done == st->len) {
		p = coll_exec_peer(x, st->node, st->link);
		WRITE_ONCE(p->recv, st->next);
		coll_step_complete(x, st);
	}
	if (coll_exec_tells(x, st, before))
		coll_exec_kick(x, st);
}

struct coll_exec_step *coll_exec_send_step(struct coll_exec *x,
					   const struct coll_link *link, u32 *avail)
{
	struct coll_exec_peer *p = coll_exec_peer(x, link->peer, link->nr);
	u64 segment = x->op->cmd.segment ?: COLL_SEGMENT;
	struct coll_exec_step *st;
	u64 left, have;
	bool open;

	if (!p || p->send == COLL_DEP_NONE)
		return NULL;
	st = &x->steps[p->send];
	have = coll_step_limit(x, st, &open) - st->done;
	left = st->len - st->done;
	if (!open)
		return NULL;
	/* A small frame costs more than waiting for the next bytes. */
	if (have < left && have < min_t(u64, segment, COLL_SEGMENT_MIN))
		return NULL;
	*avail = min(have, segment);
	return st;
}

bool coll_exec_may_zerocopy(const struct coll_exec *x, const struct coll_exec_step *st)
{
	const struct coll_buf *buf = st->src.vec ? st->src.vec->buf : NULL;

	/* The bytes that are sent are not those in memory: elements are rounded. */
	if (st->wire)
		return false;
	return buf && coll_buf_may_zerocopy(buf) && !(buf->scratch && coll_exec_reuses(x));
}

int coll_exec_narrowed(const struct coll_exec *x, const struct coll_exec_step *st, void *to,
		       u32 room, u32 len, u32 *skip)
{
	const struct coll_wire_type *w = &x->reducer.wire;
	u64 first = st->done / st->unit;
	u32 count;
	int ret;

	*skip = st->done % st->unit;
	count = min(DIV_ROUND_UP(*skip + len, st->unit), room / st->unit);
	ret = coll_sweep_narrow(w, st->src.vec, st->src.at + first * x->op->elem, to, count);
	return ret ?: min(len, count * st->unit - *skip);
}

struct coll_exec_step *coll_exec_sending(struct coll_exec *x,
					 const struct coll_link *link)
{
	return &x->steps[coll_exec_peer(x, link->peer, link->nr)->send];
}

void coll_exec_sent(struct coll_exec *x, struct coll_exec_step *st, u32 len)
{
	struct coll_exec_peer *p = coll_exec_peer(x, st->node, st->link);

	coll_step_advance(st, len);
	p->sent += len;
	if (st->done < st->len)
		return;
	WRITE_ONCE(p->send, st->next);
	coll_step_complete(x, st);
	/* A receive step of a later block may wait for the scratch of this step. */
	if (coll_exec_reuses(x))
		coll_exec_kick(x, st);
}

u64 coll_exec_sent_bytes(struct coll_exec *x, const struct coll_link *link)
{
	return coll_exec_peer(x, link->peer, link->nr)->sent;
}

void coll_exec_freed(struct coll_exec *x, const struct coll_link *link, u64 bytes)
{
	struct coll_exec_peer *p = coll_exec_peer(x, link->peer, link->nr);
	const struct coll_exec_step *st;
	u64 n;

	/* A token has no bytes to count. */
	while (p->freed < bytes && p->freeing != COLL_DEP_NONE) {
		st = &x->steps[p->freeing];
		n = min(bytes - p->freed, st->len - p->freeing_at);
		coll_tally_count(x, st, p->freeing_at, p->freeing_at + n);
		p->freed += n;
		p->freeing_at += n;
		if (p->freeing_at < st->len)
			break;
		p->freeing = st->next;
		p->freeing_at = 0;
	}
}

void coll_exec_free(struct coll_exec *x)
{
	u32 i;

	if (!x)
		return;
	for (i = 0; x->parts && i < x->nr_parts; i++) {
		coll_buf_put(x->parts[i].work.buf);
		coll_buf_put(x->parts[i].tmp.buf);
	}
	for (i = 0; i < x->nr_helpers; i++)
		coll_sweep_free(x->helpers[i].sweep);
	bitmap_free(x->in_place);
	coll_tally_free(x->tally);
	kvfree(x->taken);
	kvfree(x->helpers);
	kvfree(x->local);
	kvfree(x->scales);
	kvfree(x->peers);
	kvfree(x->fences);
	kvfree(x->steps);
	kvfree(x->vecs);
	kvfree(x->parts);
	kfree(x);
}
