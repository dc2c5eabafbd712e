/* SPDX-License-Identifier: GPL-2.0 */
/* Test results in TAP, for test programs of one or several files. */
#ifndef COLL_UNIT_TAP_H
#define COLL_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../common/rand.h"

/* Weak: the files of a program share one count. */
__attribute__((weak)) int tap_nr, tap_failed;

/* One result. Returns @good, so that a caller can stop at the first failure. */
static inline bool __attribute__((format(printf, 2, 3)))
tap_ok(bool good, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	printf("%sok %d - ", good ? "" : "not ", ++tap_nr);
	vprintf(name, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
	tap_failed += !good;
	return good;
}

static inline void tap_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_nr, name, why);
}

/* The plan, at the end; returns the exit status. */
static inline int tap_done(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed ? 1 : 0;
}

/* As test_rand(). */
static inline uint64_t tap_random(uint64_t *state)
{
	return test_rand(state);
}

/* Seed of this run: COLL_SEED if set. Printed, to repeat a failure. */
static inline uint64_t tap_seed(void)
{
	const char *s = getenv("COLL_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : 0x636f6c6cULL;

	printf("# COLL_SEED=0x%llx\n", (unsigned long long)seed);
	return seed ? seed : 1;
}

#endif /* COLL_UNIT_TAP_H */
