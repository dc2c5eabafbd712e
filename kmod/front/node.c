// SPDX-License-Identifier: GPL-2.0
#include <linux/container_of.h>
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include <linux/coll.h>

#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/group/proxy.h"
#include "../core/group/shm.h"
#include "../core/group/shm_memory.h"
#include "../core/limits.h"
#include "../core/mem/slot.h"
#include "../core/plan/extent.h"
#include "../core/plan/support.h"
#include "../core/trace.h"
#include "node.h"

int coll_node_check(const struct coll_req *req)
{
	const struct coll_group *g = coll_member_group(req->member);
	const struct coll_cmd *c = &req->cmd;

	if (!(c->flags & COLL_CMD_NODE))
		return 0;
	/* All bytes of an output must be results: they are copied to the slots of the ranks. */
	if (!req->for_node || req->member->local || g->nr_nodes < 2 || c->algorithm || c->segment ||
	    c->flags & COLL_CMD_WIRE || !coll_fills_output(c->collective))
		return -EINVAL;
	return 0;
}

/* Does a rank ask for the same as the first one? */
static bool coll_node_says(const struct coll_shm_slot *says, const struct coll_cmd *c)
{
	u32 elem = coll_elem_size(c->dtype);

	return says->collective == c->collective && says->op == c->op && says->dtype == c->dtype &&
	       says->flags == (c->flags & COLL_CMD_NARROW ? COLL_SHM_NARROW : 0) &&
	       says->root == c->root && says->count == c->count &&
	       (!says->scalar || (c->op == COLL_OP_PREMULSUM &&
				  (elem >= sizeof(says->scalar) || !(says->scalar >> elem * 8))));
}

static void coll_node_done(struct coll_req *req, int result)
{
	coll_proxy_finish(container_of(req, struct coll_proxy, req), result);
}

/* Make the command of another rank: copy the first one's, but for fields that may differ. */
static void coll_node_command(struct coll_req *req, struct coll_member *m,
			      const struct coll_cmd *c, const struct coll_shm_slot *says)
{
	*req = (struct coll_req){ .member = m, .done = coll_node_done };
	req->cmd = (struct coll_cmd){
		.collective = c->collective,
		.op = c->op,
		.dtype = c->dtype,
		.flags = c->flags & COLL_CMD_NARROW,
		.root = c->root,
		.count = c->count,
		.timeout_ns = c->timeout_ns,
		.scalar = says->scalar,
	};
}

static void coll_node_vec(struct coll_vec *v, const struct coll_slot *slot, u32 at)
{
	coll_buf_get(slot->buf);
	v->buf = slot->buf;
	v->start = slot->start + at;
}

/* Copy the input, and note what to copy back. @e in elements, which fit the slot. */
static void coll_node_load(struct coll_proxy *p, const struct coll_extent *e)
{
	struct coll_req *req = &p->req;
	struct coll_slot *slot = p->slot;
	struct coll_member *m = req->member;
	bool one = coll_one_buffer(req->cmd.collective), is_source = one && req->cmd.root == m->rank;
	u32 elem = coll_elem_size(req->cmd.dtype), in = e->in * elem, out = e->out * elem;
	const struct coll_shared *s = m->group->shared;

	if (in && !one) {
		coll_shared_read(s, m->local, p->pos, coll_slot_at(slot, 0), in);
		coll_node_vec(&req->in, slot, 0);
	}
	if (out) {
		/* The one buffer of a broadcast is an output. At the root it is read. */
		if (is_source)
			coll_shared_read(s, m->local, p->pos, coll_slot_at(slot, slot->half), out);
		coll_node_vec(&req->out, slot, slot->half);
	}
	slot->back_at = slot->half;
	slot->back_len = is_source ? 0 : e->written * elem;
	req->in_bytes = in;
	req->bytes = max(in, out);
}

/* Return: 0; -ESTALE: this rank asks for something else, or its vectors are not small. */
static int coll_node_fill(struct coll_proxy *p, struct coll_member *m, const struct coll_cmd *c)
{
	const struct coll_group *g = coll_member_group(m);
	struct coll_shm_slot says;
	struct coll_extent e;
	u64 in, out;
	u32 elem = coll_elem_size(c->dtype);

	coll_shared_read_head(g->shared, m->local, p->pos, &says);
	if (!coll_node_says(&says, c))
		return -ESTALE;
	coll_node_command(&p->req, m, c, &says);
	if (coll_extent_of(&p->req, m->rank, g->size, &e) ||
	    check_mul_overflow(e.in, (u64)elem, &in) ||
	    check_mul_overflow(e.out, (u64)elem, &out) || in > COLL_SMALL || out > COLL_SMALL)
		return -ESTALE;
	coll_node_load(p, &e);
	trace_coll_submit(g->id, m->rank, &p->req.cmd);
	return 0;
}

/* The proxies have been claimed: no other thread uses them, and their members stay. */
static int coll_node_fill_all(struct coll_req *lead)
{
	struct coll_group *g = coll_member_group(lead->member);
	int ret = 0;
	u32 i;

	for (i = 1; i < g->nr_local && !ret; i++)
		ret = coll_node_fill(g->members[i]->proxy, g->members[i], &lead->cmd);
	return ret;
}

/* Wait until all local ranks have written their slots, or it is clear that a rank does not. */
static int coll_node_wait(struct coll_req *lead, u64 pos)
{
	struct coll_shm_wait w = {
		.pos = pos,
		.posted = pos - 1,
		.timeout_ns = lead->cmd.timeout_ns,
	};
	u64 begin = ktime_get_ns(), took;
	int ret = coll_shm_wait(lead->member, &w);

	took = ktime_get_ns() - begin;
	if (w.timeout_ns)
		lead->cmd.timeout_ns = took < w.timeout_ns ? w.timeout_ns - took : 1;
	return ret;
}

int coll_node_gather(struct coll_req *lead)
{
	struct coll_member *m = lead->member;
	struct coll_group *g = coll_member_group(m);
	u64 pos = READ_ONCE(m->posted) + 1;
	int ret = coll_proxies_claim(m, pos);

	if (ret == -ESTALE && coll_shared_pos(g->shared, m->local, pos) == pos) {
		ret = coll_node_wait(lead, pos);
		ret = ret ?: coll_proxies_claim(m, pos);
	}
	if (ret)
		return ret == -ESTALE && READ_ONCE(g->error) ? -READ_ONCE(g->error) : ret;
	ret = coll_node_fill_all(lead);
	if (ret)
		coll_proxies_drop(m);
	return ret;
}

void coll_node_drop(struct coll_req *lead)
{
	if (lead->cmd.flags & COLL_CMD_NODE)
		coll_proxies_drop(lead->member);
}
