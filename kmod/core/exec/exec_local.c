// SPDX-License-Identifier: GPL-2.0
/*
 * Steps without a link: sweeps over the vectors of local ranks, and transfers from one local
 * participant to another. Each helper performs the steps of its participants. Any number of
 * helpers may work on a single large sweep, or on a large pass (team.c).
 */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../group/group.h"
#include "../group/link.h"
#include "../limits.h"
#include "../worker.h"
#include "exec.h"
#include "exec_local.h"
#include "exec_step.h"
#include "helper.h"
#include "kick.h"
#include "slices.h"
#include "tally.h"
#include "team.h"

/*
 * Go on with a step up to its limit, or until the time of worker @w is over; NULL: a caller. A
 * local transfer performs its send and its receive step at once: it reads the sender's memory.
 * Return: 0 or an error of the sweep.
 */
static int coll_run_step(struct coll_exec *x, struct coll_exec_step *st,
			 struct coll_sweep *sw, struct coll_worker *w)
{
	struct coll_exec_step *from = st->pair == COLL_DEP_NONE ?
		NULL : &x->steps[st->pair];
	bool open, from_open = true;
	u64 limit = coll_step_limit(x, st, &open);

	if (st->prev != COLL_DEP_NONE && !coll_step_is_complete(&x->steps[st->prev]))
		return 0;
	if (from)
		limit = min(limit, coll_step_limit(x, from, &from_open));
	/* The watermark of a copy may be inside an element. */
	if (limit < st->len)
		limit -= limit % st->unit;
	if (!open || !from_open)
		return 0;
	while (st->done < limit) {
		u64 len = min(limit - st->done, coll_slice(x, st));
		int ret;

		if (coll_op_ending(x->op) || coll_helper_must_go(x) || coll_worker_is_over(w))
			return 0;
		ret = coll_sweep_slice(x, st, sw, st->done, len);
		if (ret)
			return ret;
		coll_worker_moved(w);
		coll_step_advance(st, len);
		if (x->tally)
			coll_tally_count(x, st, st->done - len, st->done);
		if (st->done < st->len)
			coll_exec_kick(x, st);
	}
	if (st->done < st->len)
		return 0;
	if (from)
		coll_step_complete(x, from);
	coll_step_complete(x, st);
	coll_exec_kick(x, st);
	return 0;
}

/*
 * Look once at each step that is left, up to the first step whose block must wait: all steps
 * behind it are of the same block or a later one. Then close the gap between the steps that are
 * not complete and those not looked at. A worker whose time is over moves no more bytes.
 */
static int coll_helper_look(struct coll_helper *h, struct coll_sweep *sw,
			    struct coll_worker *w)
{
	u32 i, left = 0, nr = h->nr;
	int ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		struct coll_exec_step *st = &h->x->steps[h->steps[i]];

		if (coll_step_waits(h->x, st))
			break;
		ret = coll_run_step(h->x, st, sw, w);
		cond_resched();
		if (!coll_step_is_complete(st))
			h->steps[left++] = h->steps[i];
	}
	memmove(h->steps + i - left, h->steps, left * sizeof(*h->steps));
	h->steps += i - left;
	WRITE_ONCE(h->nr, nr - i + left);
	return ret;
}

void coll_helpers_init(struct coll_exec *x)
{
	u32 h;

	for (h = 0; h < x->nr_helpers; h++)
		coll_helper_init(&x->helpers[h], coll_helper_look);
}

void coll_local_plan(struct coll_exec *x)
{
	u32 h, i;

	x->todo = 0;
	for (h = 0; h < x->nr_helpers; h++) {
		for (i = 0; i < x->helpers[h].nr; i++)
			x->todo += x->steps[x->helpers[h].steps[i]].len;
	}
	x->small = x->todo <= COLL_SLICE && x->nr_steps <= COLL_SLICE_STEPS &&
		   coll_slices_touched(x) <= COLL_SLICE_TOUCHED;
	x->open = !x->small && (x->pass || (x->nr_steps == 1 && x->helpers[0].nr));
	for (h = 0; h < x->nr_helpers && (x->open || x->pass); h++)
		x->helpers[h].nr = 0;
}

/* Do a pass of few bytes in the thread that starts the op: no other thread would be faster. */
static void coll_pass_run(struct coll_exec *x)
{
	struct coll_helper *h = &x->helpers[0];
	int ret = 0;
	u32 i;

	if (!h->sweep)
		h->sweep = coll_exec_sweep(x);
	if (!h->sweep)
		ret = -ENOMEM;
	for (i = 0; i < x->nr_steps && !ret; i++) {
		struct coll_exec_step *st = &x->steps[i];

		if (st->idle)
			continue;
		if (coll_op_ending(x->op))
			return;
		ret = coll_sweep_slice(x, st, h->sweep, 0, st->len);
		if (!ret)
			coll_step_complete(x, st);
	}
	if (ret)
		coll_exec_failed(x, ret);
}

void coll_exec_start(struct coll_op *op)
{
	struct coll_exec *x = op->exec;
	u32 h;

	if (!atomic_read(&x->steps_left)) {
		if (coll_op_end(op, 0))
			coll_op_put(op);
		return;
	}
	if (x->open) {
		coll_team_start(x);
		return;
	}
	if (x->pass) {
		coll_pass_run(x);
		return;
	}
	/* Kick all peers: if a peer has posted another op, its frames may come by any link. */
	coll_links_kick(op->group, op->links);
	if (x->nr_peers)
		coll_group_time_oldest(op->group);
	for (h = 0; h < x->nr_helpers; h++)
		if (READ_ONCE(x->helpers[h].nr))
			coll_helper_kick(&x->helpers[h]);
}
