/* SPDX-License-Identifier: GPL-2.0 */
/* Allreduces of f32 whose elements are sent as f16 or bf16. */
#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define SECOND		1000000000ULL
#define RANKS		8
#define COUNT		3001
#define NR(a)		(sizeof(a) / sizeof((a)[0]))

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 3, 1 }, { 2, 2 }, { 3, 3 }, { 5, 2 }, { 8, 4 }, { 7, 5 },
};

static const uint32_t wires[] = { COLL_CMD_WIRE_F16, COLL_CMD_WIRE_BF16 };

static uint64_t rnd;
static float in[RANKS][COUNT], out[RANKS][COUNT + 1];

static inline uint32_t random32(void)
{
	return (uint32_t)(test_rand(&rnd) >> 32);
}

static inline float from_bits(uint32_t b)
{
	float f;

	memcpy(&f, &b, sizeof(f));
	return f;
}

static inline uint32_t to_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

/*
 * Round to the nearest number of the type @wire, ties to even. Larger numbers than @largest become
 * infinity, and every NaN the same NaN. With @wire 0 the number is returned as it is.
 */
static inline float rounded(float x, uint32_t wire)
{
	bool half = wire == COLL_CMD_WIRE_F16;
	int precision = half ? 11 : 8, least = half ? -24 : -133, e;
	double largest = half ? 65504 : ldexp(255, 120), r;

	if (isnan(x))
		return from_bits(0x7fc00000);
	if (!wire || !x || isinf(x))
		return x;
	frexp(x, &e);
	e = e - precision > least ? e - precision : least;
	r = ldexp(nearbyint(ldexp(x, -e)), e);
	if (fabs(r) > largest)
		r = INFINITY;
	return copysignf((float)fabs(r), x);
}

/* A random number: of a magnitude whose sums are normal numbers, or, with @any, any bits. */
static inline float number(bool any)
{
	uint32_t b = random32();

	if (any)
		return from_bits(b);
	return ldexpf((float)(int32_t)b, (int)(random32() % 24) - 43);
}

static inline void fill(uint32_t size, uint32_t count)
{
	uint32_t r, i;

	for (r = 0; r < size; r++)
		for (i = 0; i < count; i++)
			in[r][i] = number(!(random32() % 16));
}

/*
 * An allreduce of all ranks. Each rank chooses at random whether it is in place, and how its
 * result is aligned.
 */
static inline void run(struct __test_metadata *_metadata, struct raw_comm *c, uint16_t op,
		       uint32_t count, uint16_t algorithm, uint32_t flags)
{
	uint32_t skew[RANKS], r;
	struct coll_cmd cmds[RANKS];
	int results[RANKS];

	for (r = 0; r < c->size; r++) {
		void *to = (char *)out[r] + (skew[r] = random32() % 4);
		bool in_place = random32() & 1;

		if (in_place)
			memcpy(to, in[r], count * sizeof(float));
		raw_allreduce(&cmds[r], in_place ? NULL : in[r], to, count, COLL_F32, op);
		cmds[r].algorithm = algorithm;
		cmds[r].flags |= flags;
	}
	ASSERT_EQ(0, raw_all(c, cmds, results));
	for (r = 0; r < c->size; r++) {
		ASSERT_EQ(0, results[r]);
		memmove(out[r], (char *)out[r] + skew[r], count * sizeof(float));
	}
}

#endif /* WIRE_TYPES_H */
