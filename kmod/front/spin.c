// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that waits for a short op polls for as long as falling asleep and being woken would
 * take. So it never takes more than twice the CPU time of the better choice. Falling asleep and
 * being woken takes a hundred times longer on some (mostly virtual) machines than on others.
 * So it is measured when the module is loaded: this thread wakes a worker on another CPU, and the
 * worker wakes this thread. (On the same CPU a wake-up takes a tenth of that, as it needs no
 * interrupt.)
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/smp.h>
#include <linux/sort.h>
#include <linux/workqueue.h>

#include "../core/group/group.h"
#include "../core/group/member.h"
#include "../core/limits.h"
#include "../core/op/op.h"
#include "spin.h"

static int spin_us = -1;
module_param(spin_us, int, 0644);
MODULE_PARM_DESC(spin_us, "microseconds that a blocking call polls before it sleeps, while no thread but another rank wants its CPU; 0: do not poll; default -1: measured at load");

/* Set once at load, not changed afterwards. */
static u32 coll_spin_measured;

struct coll_wake {
	struct work_struct work;
	struct completion done;
};

static void coll_wake_back(struct work_struct *work)
{
	complete(&container_of(work, struct coll_wake, work)->done);
}

/*
 * Measure: wake a worker on another CPU, and be woken by it. Return: false if there is no other
 * CPU, or no worker gets to run there.
 */
static bool coll_wake_once(struct coll_wake *w, u64 *ns)
{
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	u64 begin = ktime_get_ns();

	if (cpu >= nr_cpu_ids)
		return false;
	reinit_completion(&w->done);
	/* Not on a queue of this module: they are not bound to a CPU. */
	schedule_work_on(cpu, &w->work);
	if (!wait_for_completion_timeout(&w->done, COLL_SPIN_WAIT))
		return false;
	*ns = ktime_get_ns() - begin;
	return true;
}

static int coll_wake_cmp(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void coll_spin_init(void)
{
	u64 took[COLL_SPIN_RUNS];
	struct coll_wake w;
	int runs = 0;

	if (num_online_cpus() < 2)
		return;
	INIT_WORK_ONSTACK(&w.work, coll_wake_back);
	init_completion(&w.done);
	while (runs < COLL_SPIN_RUNS && coll_wake_once(&w, &took[runs]))
		runs++;
	cancel_work_sync(&w.work);
	destroy_work_on_stack(&w.work);
	if (!runs)
		return;
	/* Half of the median: each run has two wake-ups. */
	sort(took, runs, sizeof(*took), coll_wake_cmp, NULL);
	coll_spin_measured = min_t(u64, took[runs / 2] / 2 / NSEC_PER_USEC + 1,
				   COLL_SPIN_MOST_US);
	pr_info("coll: blocking calls poll for %u us before they sleep\n", coll_spin_measured);
}

u32 coll_spin_group_us(const struct coll_group *g)
{
	int us = READ_ONCE(spin_us);

	if (num_online_cpus() < 2)
		return 0;
	if (us < 0)
		us = coll_spin_measured * (g->nr_nodes > 1 ? COLL_SPIN_LINKS : 1);
	return min_t(u32, us, COLL_SPIN_MOST_US);
}

u32 coll_spin_us(const struct coll_req *req)
{
	const struct coll_group *g = coll_member_group(req->member);

	if (req->cmd.flags & COLL_CMD_SLEEP || num_online_cpus() < 2)
		return 0;
	if (req->cmd.flags & COLL_CMD_SPIN)
		return COLL_SPIN_MOST_US;
	return coll_spin_group_us(g);
}

u32 coll_spin_yields(const struct coll_req *req)
{
	const struct coll_group *g = coll_member_group(req->member);
	u32 pause = READ_ONCE(req->member->no_yields);

	if (coll_is_message(req->cmd.collective))
		return 0;
	/*
	 * With links, the other ranks would wait for this thread, which polls the links. With
	 * more than two ranks for each CPU, the same two ranks would get the CPU in turn, and the
	 * others would wait.
	 */
	if (g->nr_nodes > 1 || g->nr_local < 2 || g->nr_local > 2 * num_online_cpus())
		return 0;
	/* yield() gives nothing to lower priorities; a deadline task waits for its next period. */
	if (current->prio < MAX_RT_PRIO)
		return 0;
	if (!pause)
		return g->nr_local;
	WRITE_ONCE(req->member->no_yields, pause - 1);
	return 0;
}
