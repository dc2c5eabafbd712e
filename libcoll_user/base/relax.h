/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Busy waiting. */
#ifndef LIBCOLL_RELAX_H
#define LIBCOLL_RELAX_H

#include <stdint.h>
#include <time.h>

/* A wait that has something else to do meanwhile does it after this time. */
#define RELAX_FIRST_NS	20000

/* Between two looks: let the other thread of this core have it. */
static inline void relax(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

static inline uint64_t relax_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds that are left of @ns, counted from @start. */
static inline uint64_t relax_left_ns(uint64_t start, uint64_t ns)
{
	uint64_t gone = relax_now_ns() - start;

	return gone < ns ? ns - gone : 0;
}

/* Sleep for @ns nanoseconds, less than a second. */
static inline void relax_sleep(uint64_t ns)
{
	struct timespec ts = { .tv_nsec = (long)(ns < 999999999 ? ns : 999999999) };

	nanosleep(&ts, NULL);
}

/* How often relax() fits into a microsecond; at least 1. */
static inline uint64_t relax_per_us(void)
{
	uint64_t begin = relax_now_ns(), took;
	int i;

	for (i = 0; i < 1000; i++)
		relax();
	took = relax_now_ns() - begin;
	return took < 1000000 ? 1000000 / (took + 1) + 1 : 1;
}

#endif
