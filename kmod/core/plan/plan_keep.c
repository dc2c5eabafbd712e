// SPDX-License-Identifier: GPL-2.0
/*
 * Programs often repeat the same collective over vectors of the same length; persistent
 * collectives always do. Laying out a small schedule takes longer than running it. So the group
 * keeps plans of ops that have ended, and the next op of the same kind only sets the vectors.
 *
 * A plan depends on the group, which does not change; on the parameters that all ranks agree on;
 * and on which local ranks work in place, because then a step may have nothing to do. Plans are
 * not kept for v-forms, for ops with ranks that have joined, and for fusions.
 */
#include <linux/bitmap.h>
#include <linux/string.h>

#include "../exec/exec.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "plan.h"
#include "plan_keep.h"
#include "plan_priv.h"

/* Make the key of the plan of @op. Return: false: plans of such ops are not kept. */
static bool coll_plan_key_of(const struct coll_op *op, struct coll_plan_key *key)
{
	if (coll_kind_of(op->cmd.collective)->flags & COLL_KIND_COUNTS || op->nr_absent ||
	    op->fused)
		return false;
	/* Clear the padding, too: keys are compared as bytes. */
	memset(key, 0, sizeof(*key));
	key->cmd.collective = op->cmd.collective;
	key->cmd.op = op->cmd.op;
	key->cmd.dtype = op->cmd.dtype;
	key->cmd.algorithm = op->cmd.algorithm;
	key->cmd.root = op->cmd.root;
	key->cmd.count = op->cmd.count;
	key->cmd.segment = op->cmd.segment;
	key->cmd.flags = op->cmd.flags & (COLL_CMD_NARROW | COLL_CMD_WIRE);
	key->agreed = op->agreed;
	key->scaling.wide = op->scaling.wide;
	key->scaling.divide = op->scaling.divide;
	key->scaling.post = op->scaling.post;
	key->chosen = op->chosen;
	key->links = op->links;
	return true;
}

static bool coll_plan_fits(const struct coll_exec *x, const struct coll_op *op,
			   const struct coll_plan_key *key)
{
	const struct coll_req *req;

	if (memcmp(&x->key, key, sizeof(*key)))
		return false;
	list_for_each_entry(req, &op->reqs, list)
		if (test_bit(req->member->local, x->in_place) !=
		    !!(req->cmd.flags & COLL_CMD_INPLACE))
			return false;
	return true;
}

struct coll_exec *coll_plans_take(const struct coll_op *op)
{
	struct coll_group *g = op->group;
	struct coll_exec *x, *found = NULL;
	struct coll_plan_key key;

	if (!coll_plan_key_of(op, &key))
		return NULL;
	spin_lock(&g->lock);
	list_for_each_entry(x, &g->plans, list) {
		if (!coll_plan_fits(x, op, &key))
			continue;
		list_del(&x->list);
		g->nr_plans--;
		found = x;
		break;
	}
	spin_unlock(&g->lock);
	return found;
}

void coll_plan_label(struct coll_plan *p)
{
	const struct coll_op *op = p->op;
	const struct coll_req *req;

	if (!coll_plan_key_of(op, &p->x->key))
		return;
	/* Without memory for the bitmap the plan will not be kept. */
	p->x->in_place = bitmap_zalloc(op->group->nr_local, GFP_KERNEL_ACCOUNT);
	if (!p->x->in_place)
		return;
	list_for_each_entry(req, &op->reqs, list)
		if (req->cmd.flags & COLL_CMD_INPLACE)
			__set_bit(req->member->local, p->x->in_place);
}

u64 coll_plan_scratch_bytes(const struct coll_exec *x)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < x->nr_parts; i++) {
		bytes += x->parts[i].work.buf ? x->parts[i].work.buf->len : 0;
		bytes += x->parts[i].tmp.buf ? x->parts[i].tmp.buf->len : 0;
	}
	return bytes;
}

void coll_exec_put(struct coll_exec *x)
{
	struct coll_exec *old = x;
	struct coll_group *g;

	if (!x)
		return;
	g = x->op->group;
	if (x->in_place && !x->op->result && x->nr_steps <= COLL_PLAN_STEPS &&
	    coll_plan_scratch_bytes(x) <= COLL_PLAN_SCRATCH) {
		old = NULL;
		x->op = NULL;
		spin_lock(&g->lock);
		list_add(&x->list, &g->plans);
		if (g->nr_plans == COLL_PLANS_MAX) {
			old = list_last_entry(&g->plans, struct coll_exec, list);
			list_del(&old->list);
		} else {
			g->nr_plans++;
		}
		spin_unlock(&g->lock);
	}
	coll_exec_free(old);
}

/* No other thread uses the group any more. */
static void coll_plans_free(struct coll_group *g)
{
	struct coll_exec *x, *next;

	list_for_each_entry_safe(x, next, &g->plans, list)
		coll_exec_free(x);
}

const struct coll_group_part coll_plan_part = {
	.free = coll_plans_free,
};
