// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for a short op does better to stay awake, as long as that costs no more than
 * falling asleep and being woken would: then it never takes more than twice the CPU time
 * of the better choice, whatever comes. What that costs differs by a factor of hundred
 * between machines, virtual ones above all, so it is measured, at load: a worker is woken
 * and wakes us.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "../core/group.h"
#include "../core/limits.h"
#include "../core/member.h"
#include "../core/op.h"
#include "spin.h"

static int spin_us = -1;
module_param(spin_us, int, 0644);
MODULE_PARM_DESC(spin_us, "microseconds that a blocking call looks for its end before it sleeps, where ranks have a CPU each; 0: never; default -1: measured at load");

/* Set once at load, read only after. */
static u32 coll_spin_measured;

struct coll_wake {
	struct work_struct work;
	struct completion done;
};

static void coll_wake_back(struct work_struct *work)
{
	complete(&container_of(work, struct coll_wake, work)->done);
}

/* There and back, in nanoseconds. */
static u64 coll_wake_once(struct coll_wake *w)
{
	u64 begin = ktime_get_ns();

	reinit_completion(&w->done);
	queue_work(coll_wq, &w->work);
	wait_for_completion(&w->done);
	return ktime_get_ns() - begin;
}

void coll_spin_init(void)
{
	u64 least = U64_MAX;
	struct coll_wake w;
	int run;

	if (num_online_cpus() < 2)
		return;
	INIT_WORK_ONSTACK(&w.work, coll_wake_back);
	init_completion(&w.done);
	for (run = 0; run < COLL_SPIN_RUNS; run++)
		least = min(least, coll_wake_once(&w));
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
	/* One of the two wake-ups is the caller's. */
	coll_spin_measured = min_t(u64, least / 2 / NSEC_PER_USEC + 1, COLL_SPIN_MOST_US);
	pr_info("coll: blocking calls stay awake for %u us\n", coll_spin_measured);
}

u32 coll_spin_us(const struct coll_req *req)
{
	const struct coll_group *g = coll_member_group(req->member);
	int us = READ_ONCE(spin_us);

	if (req->cmd.flags & COLL_CMD_SLEEP || num_online_cpus() < max(g->nr_local, 2U))
		return 0;
	if (req->cmd.flags & COLL_CMD_SPIN)
		return COLL_SPIN_MOST_US;
	if (us < 0)
		us = coll_spin_measured * (g->nr_nodes > 1 ? COLL_SPIN_LINKS : 1);
	return min_t(u32, us, COLL_SPIN_MOST_US);
}
