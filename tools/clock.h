/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A clock that is not read by a system call. Where there is no vDSO, as in user-mode Linux, every
 * call of clock_gettime() is one, and costs more than a small collective in shared memory. So
 * the time stamp counter of the CPU is read, if it goes at one rate in all states of the CPU. The
 * rate is measured against CLOCK_MONOTONIC.
 */
#ifndef COLL_TOOLS_CLOCK_H
#define COLL_TOOLS_CLOCK_H

#include <stdint.h>
#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

static inline double clock_monotonic_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

#ifdef __x86_64__
/* Does the counter go at one rate, whatever the CPU does? */
static inline int clock_is_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8;
}

/* Read the counter, but not before earlier instructions have ended. */
static inline uint64_t clock_ticks(void)
{
	_mm_lfence();
	return __rdtsc();
}

/* Read both clocks at one moment. Of some tries, take the shortest one. */
static inline uint64_t clock_read_both(double *us)
{
	uint64_t begin, end, least = UINT64_MAX, at = 0;
	double now;
	int i;

	for (i = 0; i < 8; i++) {
		begin = clock_ticks();
		now = clock_monotonic_us();
		end = clock_ticks();
		if (end - begin >= least)
			continue;
		least = end - begin;
		at = begin + least / 2;
		*us = now;
	}
	return at;
}

/* Microseconds of a tick, measured for 20 ms; 0: the counter is not fit. */
static inline double clock_measure(void)
{
	const struct timespec pause = { 0, 20000000 };
	double begin = 0, end = 0;
	uint64_t from;

	if (!clock_is_invariant())
		return 0;
	from = clock_read_both(&begin);
	nanosleep(&pause, NULL);
	from = clock_read_both(&end) - from;
	return end > begin ? (end - begin) / (double)from : 0;
}

static inline double clock_tick_us(void)
{
	static double tick = -1;

	if (tick < 0)
		tick = clock_measure();
	return tick;
}

static inline double clock_now_us(void)
{
	double tick = clock_tick_us();

	return tick > 0 ? (double)clock_ticks() * tick : clock_monotonic_us();
}

static inline const char *clock_name(void)
{
	return clock_tick_us() > 0 ? "time stamp counter" : "CLOCK_MONOTONIC";
}
#else
static inline double clock_now_us(void)
{
	return clock_monotonic_us();
}

static inline const char *clock_name(void)
{
	return "CLOCK_MONOTONIC";
}
#endif

#endif /* COLL_TOOLS_CLOCK_H */
