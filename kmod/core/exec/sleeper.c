// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/sched.h>

#include "exec_priv.h"
#include "sleeper.h"

void coll_sleeper_rise(struct coll_sleeper *s)
{
	struct coll_helper *h;

	WRITE_ONCE(s->idle, false);
	/* pairs with coll_sleeper_give(): what we do not see here is taken back */
	smp_mb();
	if (!READ_ONCE(s->job))
		return;
	h = xchg(&s->job, NULL);
	if (h)
		coll_helper_do(h);
}

bool coll_sleeper_give(struct coll_sleeper *s, struct coll_helper *h)
{
	if (!s || !READ_ONCE(s->idle) || cmpxchg(&s->job, NULL, h))
		return false;
	/* A full barrier: pairs with coll_sleeper_rise(). Who has risen may have missed it. */
	if (!READ_ONCE(s->idle) && cmpxchg(&s->job, h, NULL) == h)
		return false;
	/* From here on the op may be over, but for ours: the caller has a use of his own. */
	if (s->task != current)
		wake_up(&s->wq);
	return true;
}
