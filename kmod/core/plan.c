// SPDX-License-Identifier: GPL-2.0
/* Laying a schedule out over the buffers of an op: exec.c runs it then. */
#include <linux/slab.h>

#include "exec.h"
#include "group.h"
#include "link.h"
#include "member.h"
#include "reduce.h"

/* The same bytes of the same process? Then a copy is none. */
static bool coll_vec_same(const struct coll_vec *a, const struct coll_vec *b)
{
	return a->buf == b->buf && a->start == b->start;
}

/* Inputs and outputs by rank; out[0] is W, and on the root's node the root's. */
static void coll_plan_vectors(struct coll_exec *x)
{
	const struct coll_cmd *cmd = &x->op->cmd;
	struct coll_req *req;
	bool bcast = cmd->collective == COLL_BROADCAST;

	if (!x->op->bytes)
		return;
	list_for_each_entry(req, &x->op->reqs, list) {
		if (!bcast) {
			x->in[x->nr_in++] = req->in;
		} else if (req->member->rank == cmd->root) {
			x->in[x->nr_in++] = req->out;
			x->out[x->nr_out++] = x->out[0];
			x->out[0] = req->out;
			continue;
		}
		x->out[x->nr_out++] = req->out;
	}
}

/*
 * A local step over one input need not copy it to W for the sake of those who
 * send it on: they may read the input itself. Return: true if the step itself
 * has nothing to do then.
 */
static bool coll_plan_alias(struct coll_exec *x, struct coll_exec_step *st)
{
	u32 me = st - x->steps;
	bool same, final = st->s.flags & COLL_STEP_FINAL;
	u32 i;

	if (st->s.action != COLL_ACT_INPUT || x->nr_in != 1)
		return false;
	same = coll_vec_same(&x->in[0], &x->out[0]);
	if (final && !same)
		return false;
	for (i = me + 1; i < x->nr_steps; i++) {
		struct coll_exec_step *user = &x->steps[i];

		if (user->s.dep != me)
			continue;
		/* Folding onto W needs it to be there. */
		if (user->s.kind != COLL_STEP_SEND)
			return false;
	}
	for (i = me + 1; i < x->nr_steps; i++) {
		if (x->steps[i].s.dep == me) {
			x->steps[i].s.dep = COLL_DEP_NONE;
			x->steps[i].src = &x->in[0];
		}
	}
	return !final || x->nr_out == 1;
}

/* Queue step @i behind the others of its kind with its peer. */
static void coll_plan_chain(struct coll_exec *x, u32 i, u32 *last, u32 *head)
{
	struct coll_exec_step *st = &x->steps[i];

	st->ordinal = 0;
	if (*head == COLL_DEP_NONE) {
		*head = i;
	} else {
		st->ordinal = x->steps[*last].ordinal + 1;
		x->steps[*last].next = i;
	}
	*last = i;
}

/* Collect the peers in ascending order and chain the steps with each. */
static int coll_plan_peers(struct coll_exec *x)
{
	struct coll_group *g = x->op->group;
	struct { u32 send, recv; bool used; } *last;
	u32 *slot_of;
	u32 i;

	last = kvcalloc(g->nr_nodes, sizeof(*last), GFP_KERNEL_ACCOUNT);
	slot_of = kvcalloc(g->nr_nodes, sizeof(*slot_of), GFP_KERNEL_ACCOUNT);
	if (!last || !slot_of)
		goto nomem;
	for (i = 0; i < x->nr_steps; i++) {
		if (x->steps[i].s.kind != COLL_STEP_LOCAL)
			last[x->steps[i].s.peer].used = true;
	}
	for (i = 0; i < g->nr_nodes; i++) {
		if (last[i].used)
			slot_of[i] = x->nr_peers++;
	}
	x->peers = kvcalloc(x->nr_peers ?: 1, sizeof(*x->peers), GFP_KERNEL_ACCOUNT);
	if (!x->peers)
		goto nomem;
	for (i = 0; i < g->nr_nodes; i++) {
		if (last[i].used) {
			x->peers[slot_of[i]].peer = i;
			x->peers[slot_of[i]].send = COLL_DEP_NONE;
			x->peers[slot_of[i]].recv = COLL_DEP_NONE;
		}
	}
	for (i = 0; i < x->nr_steps; i++) {
		struct coll_step *s = &x->steps[i].s;
		struct coll_exec_peer *p;

		if (s->kind == COLL_STEP_LOCAL)
			continue;
		p = &x->peers[slot_of[s->peer]];
		if (s->kind == COLL_STEP_SEND)
			coll_plan_chain(x, i, &last[s->peer].send, &p->send);
		else
			coll_plan_chain(x, i, &last[s->peer].recv, &p->recv);
	}
	kvfree(slot_of);
	kvfree(last);
	return 0;

nomem:
	kvfree(slot_of);
	kvfree(last);
	return -ENOMEM;
}

/* Let the algorithm emit its steps, and give each its bytes. */
static int coll_plan_steps(struct coll_exec *x, const struct coll_algorithm *alg)
{
	struct coll_group *g = x->op->group;
	const struct coll_cmd *cmd = &x->op->cmd;
	u32 root = g->node_of[cmd->root];
	u32 chunks = alg->chunks(g->nr_nodes);
	struct coll_emit emit = { };
	u32 i;
	int ret;

	ret = alg->emit(&emit, g->nr_nodes, g->node, root);
	if (ret)
		return ret;
	emit.cap = emit.nr;
	emit.nr = 0;
	emit.steps = kvcalloc(emit.cap ?: 1, sizeof(*emit.steps), GFP_KERNEL_ACCOUNT);
	x->steps = kvcalloc(emit.cap ?: 1, sizeof(*x->steps), GFP_KERNEL_ACCOUNT);
	if (!emit.steps || !x->steps) {
		kvfree(emit.steps);
		return -ENOMEM;
	}
	alg->emit(&emit, g->nr_nodes, g->node, root);
	x->nr_steps = emit.cap;
	for (i = 0; i < x->nr_steps; i++) {
		struct coll_exec_step *st = &x->steps[i];
		struct coll_step *s = &emit.steps[i];
		u64 from = coll_chunk_start(cmd->count, chunks, s->chunk);
		u64 to = coll_chunk_start(cmd->count, chunks,
					  s->chunk + s->nr_chunks);

		st->s = *s;
		st->start = from * x->op->elem;
		st->len = (to - from) * x->op->elem;
		st->src = &x->out[0];
		st->next = COLL_DEP_NONE;
	}
	kvfree(emit.steps);
	return 0;
}

static void coll_plan_aliases(struct coll_exec *x)
{
	int left = x->nr_steps;
	u32 i;

	for (i = 0; i < x->nr_steps; i++) {
		struct coll_exec_step *st = &x->steps[i];

		if (st->s.kind == COLL_STEP_LOCAL &&
		    (!st->len || coll_plan_alias(x, st))) {
			st->done = st->len;
			st->complete = true;
			left--;
		}
	}
	atomic_set(&x->steps_left, left);
}

static int coll_plan_check_links(const struct coll_exec *x)
{
	u32 i;

	for (i = 0; i < x->nr_peers; i++)
		if (!coll_link_usable(x->op->group, x->peers[i].peer))
			return -ENOTCONN;
	return 0;
}

int coll_exec_prepare(struct coll_op *op)
{
	struct coll_group *g = op->group;
	const struct coll_algorithm *alg;
	struct coll_exec *x;
	int ret = -ENOMEM;

	alg = coll_algorithm_find(op->cmd.collective, op->cmd.algorithm);
	if (!alg)
		return -EINVAL;
	x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);
	if (!x)
		return -ENOMEM;
	x->op = op;
	x->fn = coll_reduce_fn_for(op->cmd.op, op->cmd.dtype);
	x->in = kcalloc(g->nr_local, sizeof(*x->in), GFP_KERNEL_ACCOUNT);
	x->out = kcalloc(g->nr_local, sizeof(*x->out), GFP_KERNEL_ACCOUNT);
	if (!x->in || !x->out)
		goto free;
	coll_plan_vectors(x);
	ret = coll_plan_steps(x, alg);
	if (ret)
		goto free;
	coll_plan_aliases(x);
	ret = coll_plan_peers(x);
	if (ret)
		goto free;
	ret = coll_plan_check_links(x);
	if (ret)
		goto free;

	/* From here on links may find it. */
	spin_lock(&g->lock);
	op->exec = x;
	spin_unlock(&g->lock);
	return 0;

free:
	coll_exec_free(x);
	return ret;
}

void coll_exec_free(struct coll_exec *x)
{
	if (!x)
		return;
	kvfree(x->peers);
	kvfree(x->steps);
	kfree(x->out);
	kfree(x->in);
	kfree(x);
}
