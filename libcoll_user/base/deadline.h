/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Deadlines: the points in time at which waits end. */
#ifndef LIBCOLL_DEADLINE_H
#define LIBCOLL_DEADLINE_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, so that setting the clock neither ends nor prolongs waits. */
struct deadline {
	int64_t at_ms;
};

static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline struct deadline deadline_in(uint32_t ms)
{
	return (struct deadline){ .at_ms = now_ms() + ms };
}

static inline struct deadline deadline_min(struct deadline a, struct deadline b)
{
	return a.at_ms < b.at_ms ? a : b;
}

/* Milliseconds left, for poll(); 0: it has passed. */
static inline int deadline_left(struct deadline d)
{
	int64_t left = d.at_ms - now_ms();

	if (left <= 0)
		return 0;
	return left > 1 << 30 ? 1 << 30 : (int)left;
}

#endif
