/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that a seed repeats. */
#ifndef COLL_SELFTESTS_RAND_H
#define COLL_SELFTESTS_RAND_H

#include <stdint.h>

/*
 * xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators,
 * scrambled", 2016. The state must not be 0.
 */
static inline uint64_t test_rand(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* Uniform enough in 0 .. n-1. */
static inline uint32_t test_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((test_rand(state) >> 32) * n >> 32);
}

#endif /* COLL_SELFTESTS_RAND_H */
