// SPDX-License-Identifier: GPL-2.0
#include <linux/spinlock.h>

#include "log.h"

/* CPUs that ask at the same time wait for each other here. */
static DEFINE_SPINLOCK(coll_log_lock);

bool coll_log_allowed(struct ratelimit_state *rs, const char *func)
{
	bool allowed;

	spin_lock(&coll_log_lock);
	allowed = ___ratelimit(rs, func);
	spin_unlock(&coll_log_lock);
	return allowed;
}
