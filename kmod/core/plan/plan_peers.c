// SPDX-License-Identifier: GPL-2.0
/*
 * Pairs of transfers: between participants of this node, and between these
 * and the participants of each peer node, over one link or several.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../group/group.h"
#include "../group/link.h"
#include "plan_peers.h"
#include "plan_priv.h"

u32 coll_plan_node(const struct coll_plan *p, u32 participant)
{
	return p->kind->flags & COLL_KIND_RANKS ?
		p->op->group->node_of[participant] : participant;
}

/**
 * struct coll_transfer - one end of a transfer, for sorting
 * @when: block and round
 * @who: sender and receiver
 * @peer: node at the other end
 * @link: number of the link to that node
 * @step: index of the step
 */
struct coll_transfer {
	u64 when;
	u64 who;
	u32 peer;
	u32 link;
	u32 step;
};

static int coll_cmp(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

/*
 * sort() never calls cond_resched(), and there may be a million transfers. So the comparison
 * functions call it.
 */
static int coll_cmp_resched(int order)
{
	cond_resched();
	return order;
}

/* The order in which a stream carries the transfers of all participants. */
static int coll_cmp_stream(const void *va, const void *vb)
{
	const struct coll_transfer *a = va, *b = vb;

	return coll_cmp_resched(coll_cmp(a->peer, b->peer) ?: coll_cmp(a->link, b->link) ?:
				coll_cmp(a->when, b->when) ?:
				coll_cmp(a->who, b->who) ?: coll_cmp(a->step, b->step));
}

/* By pair of participants; the transfers of a pair in the order of its schedule. */
static int coll_cmp_pair(const void *va, const void *vb)
{
	const struct coll_transfer *a = va, *b = vb;

	return coll_cmp_resched(coll_cmp(a->who, b->who) ?: coll_cmp(a->step, b->step));
}

static u32 coll_step_block(const struct coll_plan *p, u32 i)
{
	const struct coll_part *part = &p->x->parts[p->x->steps[i].part];
	u32 per_block = (part->end - part->begin) / p->x->blocks;

	return (i - part->begin) / per_block;
}

/*
 * Collect the transfers of one kind: within this node, or with other nodes.
 * @t has room for all steps. Return: number of transfers.
 */
static u32 coll_collect(const struct coll_plan *p, u8 kind, bool local,
			struct coll_transfer *t)
{
	u32 i, nr = 0;

	for (i = 0; i < p->x->nr_steps; i++) {
		const struct coll_exec_step *st = &p->x->steps[i];
		u32 me = p->x->parts[st->part].id, peer = st->s.peer;
		u32 node;

		if (st->s.kind != kind)
			continue;
		node = coll_plan_node(p, peer);
		if ((node == p->op->group->node) != local)
			continue;
		t[nr++] = (struct coll_transfer){
			.when = (u64)coll_step_block(p, i) << 32 | st->s.round,
			.who = kind == COLL_STEP_SEND ? (u64)me << 32 | peer :
							(u64)peer << 32 | me,
			.peer = node,
			.link = st->link,
			.step = i,
		};
	}
	return nr;
}

static struct coll_transfer *coll_transfers_alloc(const struct coll_plan *p)
{
	return kvmalloc_array(max(p->x->nr_steps, 1U),
			      sizeof(struct coll_transfer), GFP_KERNEL_ACCOUNT);
}

int coll_plan_pairs(struct coll_plan *p)
{
	struct coll_transfer *sends, *recvs;
	u32 nr, i;
	int ret = -ENOMEM;

	/* Pairs are made between participants of this node, and there is only one. */
	if (p->x->nr_parts == 1)
		return 0;
	sends = coll_transfers_alloc(p);
	recvs = coll_transfers_alloc(p);
	if (!sends || !recvs)
		goto out;
	nr = coll_collect(p, COLL_STEP_SEND, true, sends);
	ret = -EBADE;
	if (coll_collect(p, COLL_STEP_RECV, true, recvs) != nr)
		goto out;
	sort(sends, nr, sizeof(*sends), coll_cmp_pair, NULL);
	sort(recvs, nr, sizeof(*recvs), coll_cmp_pair, NULL);
	for (i = 0; i < nr; i++) {
		struct coll_exec_step *from = &p->x->steps[sends[i].step];
		struct coll_exec_step *to = &p->x->steps[recvs[i].step];

		if (sends[i].who != recvs[i].who || from->len != to->len)
			goto out;
		/* ->prev is within a block. Blocks that share scratch are ordered by ->after. */
		if (i && recvs[i - 1].who == recvs[i].who &&
		    recvs[i - 1].when >> 32 == recvs[i].when >> 32)
			to->prev = recvs[i - 1].step;
		to->pair = sends[i].step;
		from->pair = recvs[i].step;
		to->src = from->src;
	}
	ret = 0;
out:
	kvfree(sends);
	kvfree(recvs);
	return ret;
}

/* Index of a link in the tables of coll_plan_peers(). */
static u32 coll_link_index(const struct coll_plan *p, u32 peer, u32 link)
{
	return peer * p->op->links + link;
}

/* Chain the sorted transfers in @t of each link; store the first transfer of each link. */
static void coll_chain(struct coll_plan *p, const struct coll_transfer *t, u32 nr,
		       u32 *first)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct coll_exec_step *st = &p->x->steps[t[i].step];

		st->node = t[i].peer;
		if (!i || t[i - 1].peer != t[i].peer || t[i - 1].link != t[i].link) {
			first[coll_link_index(p, t[i].peer, t[i].link)] = t[i].step;
			continue;
		}
		st->ordinal = p->x->steps[t[i - 1].step].ordinal + 1;
		p->x->steps[t[i - 1].step].next = t[i].step;
	}
}

/* Put the transfers of one kind in order. Return: 0 or -ENOMEM. */
static int coll_order(struct coll_plan *p, u8 kind, u32 *first)
{
	struct coll_transfer *t = coll_transfers_alloc(p);
	u32 nr, i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < coll_link_index(p, p->op->group->nr_nodes, 0); i++)
		first[i] = COLL_DEP_NONE;
	nr = coll_collect(p, kind, false, t);
	sort(t, nr, sizeof(*t), coll_cmp_stream, NULL);
	coll_chain(p, t, nr, first);
	kvfree(t);
	return 0;
}

int coll_plan_peers(struct coll_plan *p)
{
	struct coll_exec *x = p->x;
	u32 nr = coll_link_index(p, p->op->group->nr_nodes, 0), i;
	u32 *send, *recv;
	int ret = -ENOMEM;

	if (p->op->group->nr_nodes == 1)
		return 0;
	send = kvmalloc_array(nr, sizeof(*send), GFP_KERNEL_ACCOUNT);
	recv = kvmalloc_array(nr, sizeof(*recv), GFP_KERNEL_ACCOUNT);
	if (!send || !recv || coll_order(p, COLL_STEP_SEND, send) ||
	    coll_order(p, COLL_STEP_RECV, recv))
		goto out;
	for (i = 0; i < nr; i++)
		x->nr_peers += send[i] != COLL_DEP_NONE || recv[i] != COLL_DEP_NONE;
	x->peers = kvcalloc(x->nr_peers ?: 1, sizeof(*x->peers), GFP_KERNEL_ACCOUNT);
	if (!x->peers)
		goto out;
	x->nr_peers = 0;
	ret = 0;
	for (i = 0; i < nr; i++) {
		u32 peer = i / p->op->links, link = i % p->op->links;

		if (send[i] == COLL_DEP_NONE && recv[i] == COLL_DEP_NONE)
			continue;
		x->peers[x->nr_peers++] = (struct coll_exec_peer){
			.peer = peer, .link = link,
			.first_send = send[i], .first_recv = recv[i],
		};
		if (!coll_link_usable(p->op->group, peer, link))
			ret = -ENOTCONN;
	}
out:
	kvfree(send);
	kvfree(recv);
	return ret;
}
