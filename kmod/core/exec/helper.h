/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers perform the local steps of an op. They look at steps when a dependency has progressed. */
#ifndef COLL_CORE_HELPER_H
#define COLL_CORE_HELPER_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct coll_exec;
struct coll_helper;
struct coll_sleeper;
struct coll_sweep;
struct coll_worker;

/*
 * Look once at each step that is left. @w: the worker that does it, until its time is over; NULL: a
 * caller. Return: 0 or an error of the sweep.
 */
typedef int coll_helper_look_fn(struct coll_helper *h, struct coll_sweep *sw,
				struct coll_worker *w);

/**
 * struct coll_helper - performs the local steps of some participants
 * @work: queued, with a ref of the op, if no thread of a rank does the steps
 * @x: the schedule
 * @steps: local steps, and receives from local participants, that are not complete
 * @nr: number of @steps
 * @cpu: where its work item is queued to take slices (team.c), or -1
 * @kicks: kicks since the last look; the thread that raises it from 0 to 1 does the work, or
 *	gives it to another thread
 * @sweep: scratch memory; NULL: not needed so far
 * @look: looks at every step once; see coll_helper_look_fn
 */
struct coll_helper {
	struct work_struct work;
	struct coll_exec *x;
	struct coll_sweep *sweep;
	u32 *steps;
	u32 nr;
	int cpu;
	atomic_t kicks;
	coll_helper_look_fn *look;
};

/* Prepare a helper for kicks, before other threads can find it. */
void coll_helper_init(struct coll_helper *h, coll_helper_look_fn *look);

/*
 * Let an idle thread of a rank, or a worker, look at the local steps. In a small op the caller
 * looks at them itself. Process context, with a ref.
 */
void coll_helper_kick(struct coll_helper *h);

/* Take no more jobs, and do the job that was given before, if any. @s: of the calling thread. */
void coll_sleeper_rise(struct coll_sleeper *s);

#endif /* COLL_CORE_HELPER_H */
