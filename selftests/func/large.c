// SPDX-License-Identifier: GPL-2.0
/*
 * Counts and displacements beyond 2^31 and 2^32 elements. Vectors of that length are one
 * window of memory, mapped again and again, with a tail of its own: what is cut to 32 bits
 * on its way misses the tail. Blocks far apart cost the pages that they touch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#define TEST_SECONDS	900

#include "harness.h"
#include "util.h"

#define PAGE	4096UL
#define SECOND	1000000000ULL
#define RANKS	2
#define WINDOW	(16UL << 20)
/* Bytes of the tail that are used. */
#define TAIL	4099UL
#define BODY	(1UL << 32)
#define COUNT	(BODY + TAIL)
#define ROOM	(BODY + 2 * PAGE)

/* In small pages: a huge one makes memory beside a block present. */
static uint8_t *map(size_t bytes)
{
	uint8_t *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mem != MAP_FAILED)
		madvise(mem, bytes, MADV_NOHUGEPAGE);
	return mem;
}

/* A vector of ROOM bytes, in WINDOW bytes of memory and the tail. NULL: it cannot be mapped. */
static uint8_t *large_vector(void)
{
	int fd = memfd_create("large", 0);
	uint8_t *mem = map(ROOM);
	uint64_t at;

	if (fd < 0 || mem == MAP_FAILED || ftruncate(fd, WINDOW))
		return NULL;
	for (at = 0; at < BODY; at += WINDOW)
		if (mmap(mem + at, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			return NULL;
	close(fd);
	return mem;
}

static uint8_t value(uint32_t rank, uint64_t i)
{
	return i < BODY ? (uint8_t)(i % WINDOW % 31 + rank) : (uint8_t)(100 + i % 11 + rank);
}

static void put(uint8_t *v, uint32_t rank)
{
	uint64_t i;

	for (i = 0; i < WINDOW; i++)
		v[i] = value(rank, i);
	for (i = BODY; i < COUNT; i++)
		v[i] = value(rank, i);
}

/* Wrong elements in the first window and in the tail: right are those of rank 0, or the sum. */
static uint64_t wrong(const uint8_t *v, bool sum)
{
	uint64_t i, bad = 0;

	for (i = 0; i < WINDOW; i++)
		bad += v[i] != (uint8_t)(value(0, i) + (sum ? value(1, i) : 0));
	for (i = BODY; i < COUNT; i++)
		bad += v[i] != (uint8_t)(value(0, i) + (sum ? value(1, i) : 0));
	/* The memory behind the vector. */
	for (i = COUNT; i < ROOM; i++)
		bad += v[i] != 0;
	return bad;
}

FIXTURE(large) {
	struct raw_comm c;
	uint8_t *in[RANKS], *out[RANKS];
	struct coll_cmd cmds[RANKS];
};

FIXTURE_VARIANT(large) {
	uint32_t nodes;
};

FIXTURE_VARIANT_ADD(large, one_node) { .nodes = 1 };
FIXTURE_VARIANT_ADD(large, two_nodes) { .nodes = 2 };

FIXTURE_SETUP(large)
{
	ASSERT_EQ(0, raw_start(&self->c, RANKS, variant->nodes));
}

FIXTURE_TEARDOWN(large)
{
	raw_stop(&self->c);
}

static int run(FIXTURE_DATA(large) *self)
{
	int results[RANKS], ret;
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		self->cmds[r].timeout_ns = 200 * SECOND;
	ret = raw_all(&self->c, self->cmds, results);
	for (r = 0; !ret && r < RANKS; r++)
		ret = results[r];
	return ret;
}

TEST_F(large, counts)
{
	uint32_t r;

	if (test_scale(100) < 100)
		SKIP(return, "a slow machine");
	/* 4 GiB over TCP take minutes where threads of a process run by turns. */
	if (variant->nodes > 1)
		SKIP(return, "one node only");
	for (r = 0; r < RANKS; r++) {
		self->in[r] = large_vector();
		self->out[r] = large_vector();
		ASSERT_NE(NULL, self->in[r]);
		ASSERT_NE(NULL, self->out[r]);
		put(self->in[r], r);
		raw_allreduce(&self->cmds[r], self->in[r], self->out[r], COUNT, COLL_U8,
			      COLL_OP_SUM);
	}
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(0, wrong(self->out[0], true));
	EXPECT_EQ(0, wrong(self->out[1], true));

	raw_broadcast(&self->cmds[0], self->in[0], COUNT, COLL_U8, 0);
	raw_broadcast(&self->cmds[1], self->out[1], COUNT, COLL_U8, 0);
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(0, wrong(self->out[1], false));

	raw_send(&self->cmds[0], self->in[0], COUNT, COLL_U8, 1, 7);
	raw_recv(&self->cmds[1], self->in[1], COUNT, COLL_U8, 0, 7, NULL);
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(0, wrong(self->in[1], false));
}

/* Where block @i of the vectors begins, in elements of 8 bytes: 384 GiB from end to end. */
static const uint64_t displs[2 * RANKS] = {
	(1ULL << 31) - 5, (1ULL << 33) + 3,	/* of the input */
	(1ULL << 32) - 7, (3ULL << 34) - 900,	/* of the output */
};

static const uint64_t counts[2 * RANKS] = { 600, 600, 600, 600 };

TEST_F(large, displacements)
{
	const size_t bytes = (3ULL << 34) * sizeof(uint64_t);
	unsigned char there[2];
	uint64_t *mem[RANKS];
	uint32_t r, k, i;

	for (r = 0; r < RANKS; r++) {
		struct coll_cmd *c = &self->cmds[r];

		mem[r] = (uint64_t *)map(bytes);
		if (mem[r] == MAP_FAILED)
			SKIP(return, "no room in the address space");
		for (k = 0; k < RANKS; k++)
			for (i = 0; i < 600; i++)
				mem[r][displs[k] + i] = 10000 * r + 1000 * k + i;
		memset(c, 0, sizeof(*c));
		c->collective = COLL_ALLTOALLV;
		c->dtype = COLL_I64;
		c->send_addr = (uintptr_t)mem[r];
		c->recv_addr = (uintptr_t)mem[r];
		c->counts_addr = (uintptr_t)counts;
		c->displs_addr = (uintptr_t)displs;
	}
	EXPECT_EQ(0, run(self));
	for (r = 0; r < RANKS; r++) {
		for (k = 0; k < RANKS; k++)
			for (i = 0; i < 600; i++)
				ASSERT_EQ(10000 * k + 1000 * r + i,
					  mem[r][displs[RANKS + k] + i]);
		/* Displacements that are cut to 32 bits would point to these pages. */
		ASSERT_EQ(0, mincore((void *)((uintptr_t)mem[r] & -PAGE), 2 * PAGE, there));
		EXPECT_EQ(0, (there[0] | there[1]) & 1);
		munmap(mem[r], bytes);
	}
}

TEST_HARNESS_MAIN
