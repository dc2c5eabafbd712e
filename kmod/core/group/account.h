/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time that commands cost, for the administrator of a machine. It is measured by the clock, because
 * the counters of the scheduler are not exported. So the time in which a worker is preempted
 * counts, too; this is little, because work items are bounded. Each measurement reads the clock
 * twice.
 *
 * The kernel charges the work of callers and progress threads to their control groups. The work
 * of workers is charged to no control group, so it has a counter of its own.
 */
#ifndef COLL_CORE_ACCOUNT_H
#define COLL_CORE_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/ktime.h>

#include "group.h"
#include "member.h"

static inline u64 coll_account_begin(void)
{
	return ktime_get_ns();
}

/* A worker has done something for @g since @begin. */
static inline void coll_account_work(struct coll_group *g, u64 begin)
{
	atomic64_add(ktime_get_ns() - begin, &g->work_ns);
}

/* A worker has spent @ns on @g, in a work item that serves several groups. */
static inline void coll_account_share(struct coll_group *g, u64 ns)
{
	atomic64_add(ns, &g->work_ns);
}

/*
 * A rank has worked since @begin, in a system call or its progress thread. The time that it sleeps
 * for locks counts; the time that it sleeps for its op does not.
 */
static inline void coll_account_call(struct coll_member *m, u64 begin)
{
	struct coll_group *g = coll_member_group(m);
	u64 ns = ktime_get_ns() - begin;

	if (!g)
		return;
	atomic64_add(ns, &g->call_ns);
	atomic64_add(ns, &m->call_ns);
}

#endif /* COLL_CORE_ACCOUNT_H */
