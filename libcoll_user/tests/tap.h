/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Test results in TAP, and random numbers. Included by one file of a program. */
#ifndef LIBCOLL_TEST_TAP_H
#define LIBCOLL_TEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static int tests, failures;

/* One result. A test that dies later has printed it. */
static inline void __attribute__((format(printf, 2, 3))) ok(bool good, const char *fmt, ...)
{
	va_list ap;

	tests++;
	failures += !good;
	printf("%sok %d - ", good ? "" : "not ", tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

/* The plan, at the end. Returns the exit status. */
static inline int ok_done(void)
{
	printf("1..%d\n", tests);
	return failures > 0;
}

/* The next random number of @state, below @bound. */
static inline uint32_t below(uint64_t *state, uint32_t bound)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((*state >> 33) % bound);
}

#endif /* LIBCOLL_TEST_TAP_H */
