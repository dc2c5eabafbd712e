// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that have joined. Until all ranks have joined, each of them takes part in every tensor by a
 * stand-in, a request without vectors. So its node folds only the inputs of its other ranks. If all
 * ranks of a node have joined, one stand-in has a vector: the identity of the operator.
 *
 * A stand-in is a posted command of its rank. If the rank left meanwhile, the communicator would
 * fail. So the join of a rank ends only when the stand-ins for this rank have ended.
 */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "../../pure/coord/coord.h"
#include "../../pure/coord/coord_params.h"
#include "../../pure/optable.h"
#include "../../pure/reduction/identity.h"
#include "../group/group.h"
#include "../group/member.h"
#include "../limits.h"
#include "../op/op.h"
#include "../plan/support.h"
#include "tensor_hands.h"
#include "tensor_join.h"
#include "tensor_life.h"
#include "tensor_scale.h"

/* --- joining ---------------------------------------------------------------------- */

static int coll_tensor_join_locked(struct coll_tensor_req *t)
{
	struct coll_member *m = t->req.member;
	struct coll_group *g = coll_member_group(m);
	int ret;

	lockdep_assert_held(&g->lock);
	if (g->error)
		return -g->error;
	if (m->tensors.joined)
		return -EBUSY;
	if (m->tensors.kept >= COLL_TENSORS_KEPT)
		return -EAGAIN;
	ret = coll_coord_join(&g->tensors->coord, m->local);
	if (ret)
		return ret;
	m->tensors.join = t;
	m->tensors.waiting++;
	WRITE_ONCE(m->tensors.open, m->tensors.open + 1);
	m->tensors.kept++;
	list_add_tail(&t->list, &g->tensors->waiting);
	return 0;
}

int coll_tensor_join(struct coll_tensor_req *t)
{
	struct coll_group *g = coll_member_group(t->req.member);
	int ret;

	t->req.done = coll_tensor_done;
	spin_lock(&g->lock);
	ret = coll_tensor_join_locked(t);
	spin_unlock(&g->lock);
	return ret;
}

void coll_tensors_joined(struct coll_tensors *ts, u32 rank)
{
	struct coll_group *g = ts->group;
	struct coll_tensor_req *t;
	struct coll_member *m;
	u32 k;

	lockdep_assert_held(&g->lock);
	for (k = 0; k < g->nr_local; k++) {
		m = g->members[k];
		t = m ? m->tensors.join : NULL;
		if (!t)
			continue;
		coll_tensor_unwait(ts, t);
		t->result = 0;
		t->last = rank;
		if (m->tensors.stand_ins)
			m->tensors.joined = t;
		else
			list_add_tail(&t->list, &ts->ended);
	}
}

/* --- stand-ins --------------------------------------------------------------------- */

/* A stand-in has ended. Under group->lock. Return: a join that ends now; NULL: none. */
static struct coll_tensor_req *coll_stand_in_over_locked(struct coll_member *m)
{
	struct coll_tensor_req *join = NULL;

	lockdep_assert_held(&coll_member_group(m)->lock);
	WRITE_ONCE(m->tensors.open, m->tensors.open - 1);
	if (!--m->tensors.stand_ins)
		swap(join, m->tensors.joined);
	return join;
}

static void coll_stand_in_done(struct coll_req *req, int result)
{
	struct coll_tensor_req *t = container_of(req, struct coll_tensor_req, req), *join;
	struct coll_member *m = req->member;
	struct coll_group *g = coll_member_group(m);

	spin_lock(&g->lock);
	join = coll_stand_in_over_locked(m);
	/* Under the lock: a waiter for the last one may free the member. */
	coll_tensors_wake(m);
	spin_unlock(&g->lock);
	coll_tensor_free(t);
	if (join)
		coll_req_done(&join->req, join->result);
}

/*
 * Make the command of a rank that posts a tensor with @p. The parameters may be wrong: another node
 * has sent them. Return: false if no stand-in can have them.
 */
static bool coll_stand_in_cmd(struct coll_req *req, const struct coll_coord_params *p)
{
	const u64 *f = p->field;
	u8 one[COLL_IDENTITY_MAX];
	struct coll_cmd *c = &req->cmd;
	u32 elem = coll_dtype_size(f[COLL_FIELD_DTYPE]);

	c->collective = f[COLL_FIELD_COLLECTIVE];
	c->flags = (f[COLL_FIELD_FLAGS] & COLL_CMD_NARROW) | coll_wire_flag(f[COLL_FIELD_WIRE]);
	if (f[COLL_FIELD_ALGORITHM] > U16_MAX)
		return false;
	c->algorithm = f[COLL_FIELD_ALGORITHM];
	if (c->collective == COLL_ALLREDUCE) {
		if (!elem || !coll_identity(f[COLL_FIELD_OP], f[COLL_FIELD_DTYPE], one))
			return false;
		c->op = f[COLL_FIELD_OP];
		c->dtype = f[COLL_FIELD_DTYPE];
		c->scalar = c->op == COLL_OP_PREMULSUM ? coll_identity_factor(c->dtype) : 0;
		c->count = coll_coord_bytes(p) / elem;
		req->bytes = coll_coord_bytes(p);
	} else if (c->collective != COLL_BARRIER) {
		return false;
	}
	req->agreed = c->count;
	if (f[COLL_FIELD_WIRE] && !coll_wire_ok(c))
		return false;
	return req->bytes <= COLL_MAX_BUFFER && !coll_tensor_scale(req, p) &&
	       coll_has_algorithm(c->collective, c->op, c->dtype, c->algorithm);
}

/* Return: 0; -ENOMEM; -EBADE no rank can ask for that. */
static int coll_stand_in(struct coll_member *m, const struct coll_coord_params *p, u32 divisor)
{
	struct coll_tensor_req *t;
	int ret = -EBADE;

	/* An honest root does not exceed a window. A root that lies must not take all memory. */
	if (m->posted - m->completed >= COLL_TENSORS_ABSENT)
		return -EBADE;
	t = coll_tensor_alloc(m, GFP_ATOMIC);
	if (!t)
		return -ENOMEM;
	t->req.absent = true;
	t->req.divisor = divisor;
	t->req.weight = coll_coord_bytes(p);
	t->req.done = coll_stand_in_done;
	if (coll_stand_in_cmd(&t->req, p))
		ret = coll_op_post_ordered(&t->req, &t->op);
	if (!ret) {
		WRITE_ONCE(m->tensors.open, m->tensors.open + 1);
		m->tensors.stand_ins++;
		return 0;
	}
	coll_tensor_free(t);
	return ret;
}

void coll_tensors_stand_in(struct coll_tensors *ts, struct coll_coord_entry *e, u32 divisor)
{
	struct coll_group *g = ts->group;
	struct mem_cgroup *memcg = set_active_memcg(g->memcg);
	u32 k;
	int ret;

	lockdep_assert_held(&g->lock);
	for (k = 0; k < g->nr_local && !ts->broken; k++) {
		if (e->ranks[k / 64] >> k % 64 & 1)
			continue;
		ret = g->members[k] ? coll_stand_in(g->members[k], &e->known, divisor) : -EBADE;
		if (ret)
			ts->broken = -ret;
	}
	set_active_memcg(memcg);
}
