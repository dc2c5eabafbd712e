/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers: who looks at the local steps of an op when something they wait for has come. */
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
 * Look at every step that is left once. @w: worker that does it, until it is over; NULL: a
 * caller. Return: 0 or an error of the sweep.
 */
typedef int coll_helper_look_fn(struct coll_helper *h, struct coll_sweep *sw,
				struct coll_worker *w);

/**
 * struct coll_helper - what does the local steps of some participants
 * @work: queued, with a ref of the op, if no thread of a rank does the steps
 * @x: the schedule
 * @steps: local steps, and receives from local participants, that are not complete
 * @nr: number of @steps
 * @cpu: where it is queued for the step of the team, or -1
 * @kicks: kicks since the last look; the thread that makes it 1 has the work done
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

/* Make a helper able to be kicked, before other threads can find it. */
void coll_helper_init(struct coll_helper *h, coll_helper_look_fn *look);

/*
 * Have local steps looked at, by a thread of a rank that has nothing else to do or by a
 * worker; of a small op that is the caller. Process context, a ref held.
 */
void coll_helper_kick(struct coll_helper *h);

/* From here on jobs are not welcome: does the one that was given meanwhile. The caller's. */
void coll_sleeper_rise(struct coll_sleeper *s);

#endif /* COLL_CORE_HELPER_H */
