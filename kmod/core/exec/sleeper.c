// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/sched.h>

#include "sleeper.h"

struct coll_helper *coll_sleeper_take(struct coll_sleeper *s)
{
	WRITE_ONCE(s->idle, false);
	/* pairs with coll_sleeper_give(): what we do not see here is taken back */
	smp_mb();
	return READ_ONCE(s->job) ? xchg(&s->job, NULL) : NULL;
}

bool coll_sleeper_give(struct coll_sleeper *s, struct coll_helper *h)
{
	if (!s || !READ_ONCE(s->idle) || cmpxchg(&s->job, NULL, h))
		return false;
	/*
	 * A full barrier: pairs with coll_sleeper_take(). A thread that has risen may have
	 * missed it.
	 */
	if (!READ_ONCE(s->idle) && cmpxchg(&s->job, h, NULL) == h)
		return false;
	/* From here on the op may end. The caller's own ref keeps it. */
	if (s->task != current)
		wake_up(&s->wq);
	return true;
}
