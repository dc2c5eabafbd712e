/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time that commands cost, for the administrator of a machine. By the clock, not by the
 * scheduler, whose counters are not exported: a worker that was preempted counts the while.
 * Work items are bounded, so that is little. Two looks at the clock for each.
 *
 * The kernel charges the work of callers and progress threads to their control groups. The work
 * of workers is charged to no control group, so it is counted apart.
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

/* A worker has spent @ns on it; where one work item serves several groups. */
static inline void coll_account_share(struct coll_group *g, u64 ns)
{
	atomic64_add(ns, &g->work_ns);
}

/*
 * So has a rank, in a system call or its progress thread; sleep for locks included, for its
 * op not.
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
