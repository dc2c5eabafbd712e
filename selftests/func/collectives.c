// SPDX-License-Identifier: GPL-2.0
/*
 * Every collective that works, on one node and on several, by ioctl: results
 * verified element by element, for counts around every border there is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "util.h"

static const struct { uint32_t size, nodes; } shapes[] = {
	{ 1, 1 }, { 2, 1 }, { 3, 1 }, { 8, 1 },
	{ 2, 2 }, { 3, 3 }, { 4, 2 }, { 5, 3 }, { 8, 4 }, { 7, 7 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Counts: none, fewer than ranks, around pages and slices, not divisible. */
static const uint64_t counts[] = {
	0, 1, 2, 5, 7, 9, 511, 512, 513, 1000, 16384, 16387, 100003, 300007,
};

#define NR_COUNTS (sizeof(counts) / sizeof(counts[0]))

struct buffers {
	void *mem[RAW_MAX][2];
};

static void get_buffers(struct buffers *b, uint32_t size, size_t bytes,
			size_t shift)
{
	uint32_t r;

	for (r = 0; r < size; r++) {
		b->mem[r][0] = malloc(bytes + 64) + shift;
		b->mem[r][1] = malloc(bytes + 64) + shift * 3;
	}
}

static void put_buffers(struct buffers *b, uint32_t size, size_t shift)
{
	uint32_t r;

	for (r = 0; r < size; r++) {
		free(b->mem[r][0] - shift);
		free(b->mem[r][1] - shift * 3);
	}
}

/* Small integers: every sum of them is exact in f32, in any order. */
static float value(uint32_t rank, uint64_t i)
{
	return (float)((rank + 1) * 3 + (i * 7) % 101);
}

static float value_sum(uint32_t size, uint64_t i)
{
	return (float)(3 * size * (size + 1) / 2 + size * ((i * 7) % 101));
}

static uint64_t wrong_sums(const void *mem, uint32_t size, uint64_t count)
{
	uint64_t i, wrong = 0;
	float f;

	for (i = 0; i < count; i++) {
		memcpy(&f, mem + i * sizeof(f), sizeof(f));
		wrong += f != value_sum(size, i);
	}
	return wrong;
}

static void fill(void *mem, uint32_t rank, uint64_t count)
{
	uint64_t i;
	float f;

	for (i = 0; i < count; i++) {
		f = value(rank, i);
		memcpy(mem + i * sizeof(f), &f, sizeof(f));
	}
}

/* A slow machine tests only some of the counts, different ones for each shape. */
static bool wanted(size_t shape, size_t n)
{
	return test_scale(100) >= 100 || (shape + n) % 4 == 0;
}

/* Return: wrong elements on all ranks, or -errno. */
static long do_allreduce(struct raw_comm *c, uint64_t count, bool inplace,
			 size_t shift)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX];
	struct buffers b;
	long wrong = 0;
	uint32_t r;
	int ret;

	get_buffers(&b, c->size, count * sizeof(float), shift);
	for (r = 0; r < c->size; r++) {
		fill(b.mem[r][0], r, count);
		memset(b.mem[r][1], 0xff, count * sizeof(float));
		raw_allreduce(&cmds[r], inplace ? NULL : b.mem[r][0],
			      inplace ? b.mem[r][0] : b.mem[r][1], count,
			      COLL_F32, COLL_OP_SUM);
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < c->size; r++) {
		if (!ret)
			ret = results[r];
		wrong += wrong_sums(b.mem[r][!inplace], c->size, count);
	}
	put_buffers(&b, c->size, shift);
	return ret ? ret : wrong;
}

TEST(allreduce_every_shape_and_count)
{
	struct raw_comm c;
	size_t s, n;

	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (n = 0; n < NR_COUNTS; n++) {
			if (!wanted(s, n))
				continue;
			EXPECT_EQ(0, do_allreduce(&c, counts[n], false, 0)) {
				TH_LOG("%u ranks, %u nodes, count %llu",
				       c.size, c.nodes, (unsigned long long)counts[n]);
			}
			EXPECT_EQ(0, do_allreduce(&c, counts[n], true, 0)) {
				TH_LOG("in place: %u ranks, %u nodes, count %llu",
				       c.size, c.nodes, (unsigned long long)counts[n]);
			}
		}
		raw_stop(&c);
	}
}

/* Elements that straddle pages, in buffers of different alignment. */
TEST(allreduce_misaligned)
{
	static const size_t shifts[] = { 1, 2, 3, 4, 7 };
	struct raw_comm c;
	size_t s, i;

	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (i = 0; i < 5; i++) {
			EXPECT_EQ(0, do_allreduce(&c, 5003, false, shifts[i]));
			EXPECT_EQ(0, do_allreduce(&c, 5003, true, shifts[i]));
		}
		raw_stop(&c);
	}
}

/* A byte that differs from those near it, and from those a page or a slice away. */
static uint8_t broadcast_byte(uint32_t root, uint64_t i)
{
	return (uint8_t)(i * 7 + i / 251 + root * 31);
}

static long do_broadcast(struct raw_comm *c, uint64_t count, uint32_t root)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX];
	struct buffers b;
	long wrong = 0;
	uint64_t i;
	uint32_t r;
	int ret;

	get_buffers(&b, c->size, count, 1);
	for (r = 0; r < c->size; r++) {
		uint8_t *p = b.mem[r][0];

		for (i = 0; i < count; i++)
			p[i] = broadcast_byte(root, i) ^ (r == root ? 0 : 0xff);
		raw_broadcast(&cmds[r], b.mem[r][0], count, COLL_BYTE, root);
	}
	ret = raw_all(c, cmds, results);
	for (r = 0; r < c->size; r++) {
		const uint8_t *p = b.mem[r][0];

		if (!ret)
			ret = results[r];
		for (i = 0; i < count; i++)
			wrong += p[i] != broadcast_byte(root, i);
	}
	put_buffers(&b, c->size, 1);
	return ret ? ret : wrong;
}

TEST(broadcast_every_shape_and_root)
{
	struct raw_comm c;
	uint32_t root;
	size_t s, n;

	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (root = 0; root < c.size; root++)
			for (n = 0; n < NR_COUNTS; n++)
				if (wanted(s + root, n) && (!root || (root + n) % 3 == 0))
					EXPECT_EQ(0, do_broadcast(&c, counts[n], root));
		raw_stop(&c);
	}
}

TEST(barrier_every_shape)
{
	struct coll_cmd cmds[RAW_MAX];
	int results[RAW_MAX];
	struct raw_comm c;
	uint32_t r;
	size_t s;
	int i;

	for (s = 0; s < NR_SHAPES; s++) {
		ASSERT_EQ(0, raw_start(&c, shapes[s].size, shapes[s].nodes));
		for (i = 0; i < 10; i++) {
			for (r = 0; r < c.size; r++)
				raw_barrier(&cmds[r]);
			ASSERT_EQ(0, raw_all(&c, cmds, results));
			for (r = 0; r < c.size; r++)
				EXPECT_EQ(0, results[r]);
		}
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
