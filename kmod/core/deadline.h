/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deadlines of commands, by CLOCK_MONOTONIC. Delayed works use jiffies, which stand still while the
 * CPU that counts them does not run, as in a virtual machine whose CPU is preempted. A delayed work
 * that is armed meanwhile runs too early, and has to be armed again.
 */
#ifndef COLL_CORE_DEADLINE_H
#define COLL_CORE_DEADLINE_H

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

/* No deadline is more than a year away. */
#define COLL_DEADLINE_MOST	((u64)NSEC_PER_SEC * 86400 * 365)

/* The time when a timeout that begins now is over; not 0. */
static inline u64 coll_deadline(u64 timeout_ns)
{
	return ktime_get_ns() + min(timeout_ns, COLL_DEADLINE_MOST);
}

/* Jiffies until the deadline @expires; 0: it is over. */
static inline unsigned long coll_deadline_delay(u64 expires)
{
	u64 now = ktime_get_ns();

	return now < expires ? nsecs_to_jiffies(expires - now) + 1 : 0;
}

/* Nanoseconds until the deadline @expires; 0: it is over. */
static inline u64 coll_deadline_left(u64 expires)
{
	u64 now = ktime_get_ns();

	return now < expires ? expires - now : 0;
}

#endif /* COLL_CORE_DEADLINE_H */
