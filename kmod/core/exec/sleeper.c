// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/sched.h>

#include "sleeper.h"

struct coll_helper *coll_sleeper_take(struct coll_sleeper *s)
{
	WRITE_ONCE(s->idle, false);
	/* pairs with cmpxchg() in coll_sleeper_give(), which takes back a job that we do not see */
	smp_mb();
	return READ_ONCE(s->job) ? xchg(&s->job, NULL) : NULL;
}

bool coll_sleeper_give(struct coll_sleeper *s, struct coll_helper *h)
{
	if (!s || !READ_ONCE(s->idle) || cmpxchg(&s->job, NULL, h))
		return false;
	/*
	 * cmpxchg() is a full barrier and pairs with coll_sleeper_take(). If the thread is not idle
	 * any more, it may have missed the job.
	 */
	if (!READ_ONCE(s->idle) && cmpxchg(&s->job, h, NULL) == h)
		return false;
	/* The thread may drop the ref of @h from here on. The caller's own ref keeps the op. */
	if (s->task != current)
		wake_up(&s->wq);
	return true;
}
