// SPDX-License-Identifier: GPL-2.0
/* Helpers perform the local steps of an op. They look at steps when a dependency has progressed. */
#include <linux/errno.h>

#include "../group/account.h"
#include "../group/group.h"
#include "../group/ref.h"
#include "../worker.h"
#include "exec.h"
#include "exec_step.h"
#include "helper.h"
#include "sleeper.h"
#include "slices.h"

/*
 * The thread that raises @kicks from 0 to 1 does all the work, also for later kicks, until it has
 * to go, or the time of worker @w is over. @w is NULL for a caller. Return: true if there may be
 * more work. Then the caller still owns the work, and has to give it to another thread.
 */
static bool coll_helper_run(struct coll_helper *h, struct coll_worker *w)
{
	int ret, seen;

	if (!h->sweep)
		h->sweep = coll_exec_sweep(h->x);
	ret = h->sweep ? 0 : -ENOMEM;
	do {
		/* We see what was done before each kick that we count. */
		seen = atomic_read_acquire(&h->kicks);
		if (!ret && !coll_op_ending(h->x->op))
			ret = h->look(h, h->sweep, w);
		/* Check the time after each look: a peer may send, and so kick, without end. */
		if (!ret && !coll_op_ending(h->x->op) &&
		    (coll_helper_must_go(h->x) || coll_worker_is_late(w)))
			return true;
	} while (atomic_sub_return(seen, &h->kicks));
	if (ret)
		coll_exec_failed(h->x, ret);
	return false;
}

/* Look at the steps, and drop the caller's ref of the op. */
static void coll_helper_do(struct coll_helper *h)
{
	struct coll_op *op = h->x->op;

	if (coll_helper_run(h, NULL))
		queue_work(op->group->user->wq, &h->work);	/* with the same ref */
	else
		coll_op_put(op);
}

static void coll_helper_work(struct work_struct *work)
{
	struct coll_helper *h = container_of(work, struct coll_helper, work);
	struct coll_op *op = h->x->op;
	struct coll_group *g = op->group;
	struct coll_worker w;

	coll_group_get(g);
	coll_worker_begin(&w, g->user, &g->error);
	if (coll_helper_run(h, &w))
		queue_work(g->user->wq, &h->work);	/* with the same ref */
	else
		coll_op_put(op);
	coll_account_work(g, w.begin);
	coll_worker_end(&w);
	coll_group_put(g);
}

void coll_helper_init(struct coll_helper *h, coll_helper_look_fn *look)
{
	h->look = look;
	INIT_WORK(&h->work, coll_helper_work);
}

/* Prefer an idle thread of a rank to a worker. Return: false if there is no idle thread. */
static bool coll_helper_give(struct coll_helper *h)
{
	struct coll_req *req;

	list_for_each_entry(req, &h->x->op->reqs, list)
		if (coll_sleeper_give(req->sleeper, h))
			return true;
	return false;
}

void coll_helper_kick(struct coll_helper *h)
{
	if (atomic_inc_return(&h->kicks) != 1)
		return;
	if (h->x->small)
		coll_helper_run(h, NULL);
	else if (coll_op_tryget(h->x->op) && !coll_helper_give(h))
		queue_work(h->x->op->group->user->wq, &h->work);
}

void coll_sleeper_rise(struct coll_sleeper *s)
{
	struct coll_helper *h = coll_sleeper_take(s);

	if (h)
		coll_helper_do(h);
}
