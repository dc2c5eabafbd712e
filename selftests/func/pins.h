/* SPDX-License-Identifier: GPL-2.0 */
/* Two ranks of a node whose plain buffers stay pinned from one op to the next. */
#ifndef PINS_H
#define PINS_H

#include <stdint.h>
#include <sys/mman.h>

#include "harness.h"
#include "raw.h"

#define PAGE	4096UL
#define PAGES	32UL
#define BYTES	(PAGES * PAGE)
#define COUNT	(BYTES / sizeof(int32_t))
#define RANKS	2
#define SECOND	1000000000ULL

FIXTURE(pins)
{
	struct raw_comm c;
	int32_t *in[RANKS], *out[RANKS];
	int results[RANKS];
};

/* New memory, at @at if it is not NULL. Return: as mmap(). */
static inline int32_t *memory_at(void *at)
{
	return mmap(at, BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

/* The communicator, and memory for each rank. */
static inline void pins_start(struct __test_metadata *_metadata, FIXTURE_DATA(pins) *self)
{
	uint32_t r;

	ASSERT_EQ(0, raw_start(&self->c, RANKS, 1));
	for (r = 0; r < RANKS; r++) {
		self->in[r] = memory_at(NULL);
		self->out[r] = memory_at(NULL);
		ASSERT_NE(MAP_FAILED, self->in[r]);
		ASSERT_NE(MAP_FAILED, self->out[r]);
	}
}

static inline void fill(int32_t *v, uint64_t count, int32_t x)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		v[i] = x + (int32_t)i;
}

/* One allreduce. Return: 0, the first error, or how many elements are not x + k * i. */
static inline int64_t sum(FIXTURE_DATA(pins) *self, uint64_t first, uint64_t count, int32_t x,
			  int32_t k)
{
	struct coll_cmd cmds[RANKS];
	int64_t wrong = 0;
	uint64_t i;
	uint32_t r;
	int ret;

	for (r = 0; r < RANKS; r++) {
		raw_allreduce(&cmds[r], self->in[r] + first, self->out[r] + first, count,
			      COLL_I32, COLL_OP_SUM);
		cmds[r].timeout_ns = 20 * SECOND;
	}
	ret = raw_all(&self->c, cmds, self->results);
	for (r = 0; r < RANKS && !ret; r++)
		ret = self->results[r];
	for (r = 0; r < RANKS && !ret; r++)
		for (i = 0; i < count; i++)
			wrong += self->out[r][first + i] != x + k * (int32_t)(first + i);
	return ret ? ret : wrong;
}

/* Fill the inputs, so that the sum of element i is 2 * x + 1 + 2 * i. */
static inline void fill_all(FIXTURE_DATA(pins) *self, int32_t x)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		fill(self->in[r], COUNT, x + (int32_t)r);
}

#endif /* PINS_H */
