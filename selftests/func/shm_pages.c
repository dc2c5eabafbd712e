// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the ranks of a node: how long its pages exist. A page is allocated when it is
 * touched, and is there until it is unmapped, also when the communicator has gone.
 */
#include <stdio.h>

#include "shm.h"
#include "util.h"

/* A page that nobody has written reads as zeroes. Others see what is written to it. */
TEST_F(shm, pages_come_when_they_are_touched)
{
	const struct view *v = &self->v[0];
	uint64_t page = sysconf(_SC_PAGESIZE), i;

	for (i = v->s.own_size - page; i > v->s.own_size / 2; i -= page) {
		EXPECT_EQ(0, self->v[1].all[v->s.own_offset + i + 7]);
		v->own[i + 7] = i / page;
		EXPECT_EQ((uint8_t)(i / page), self->v[1].all[v->s.own_offset + i + 7]);
		EXPECT_EQ((uint8_t)(i / page), self->v[2].all[v->s.own_offset + i + 7]);
	}
}

#define GROUPS	120

/* A communicator of two ranks, each of which has mapped the memory. */
static void begin_group(struct __test_metadata *_metadata, struct raw_comm *c, struct view *v)
{
	uint32_t r;

	ASSERT_EQ(0, raw_start(c, 2, 1));
	for (r = 0; r < 2; r++) {
		memset(&v[r].s, 0, sizeof(v[r].s));
		v[r].fd = c->fd[r];
		ASSERT_EQ(0, shm_ioctl(v[r].fd, &v[r].s));
	}
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, map_rank(&v[r]));
}

/*
 * Most of @size bytes of shared memory are not allocated, or will not be soon: a group is freed a
 * moment later, and others use memory, too. @before: test_free_kib()
 */
static bool is_free(struct __test_metadata *_metadata, long before, uint64_t size)
{
	long gone = before - test_free_kib(), most = size / 1024 / 4;
	int i;

	for (i = 0; i < 1000 && gone >= most; i++) {
		test_sleep_us(10000);
		gone = before - test_free_kib();
	}
	TH_LOG("%llu bytes of shared memory, and %ld KiB of the machine's are gone",
	       (unsigned long long)size, gone);
	return gone < most;
}

static bool unused_is_free(struct __test_metadata *_metadata)
{
	long before = test_free_kib();
	struct raw_comm c[GROUPS];
	struct view v[2] = { };
	uint64_t size = 0;
	uint32_t i, r;
	bool good;

	ASSERT_LT(0, before);
	for (i = 0; i < GROUPS; i++) {
		begin_group(_metadata, &c[i], v);
		/* It is mapped, and not used. */
		for (r = 0; r < 2; r++) {
			munmap((void *)v[r].all, v[r].s.size);
			munmap(v[r].own, v[r].s.own_size);
		}
		size += v[0].s.size;
	}
	good = is_free(_metadata, before, size);
	for (i = 0; i < GROUPS; i++)
		raw_stop(&c[i]);
	return good;
}

static bool others_are_free(struct __test_metadata *_metadata)
{
	uint64_t page = sysconf(_SC_PAGESIZE), size = 0;
	long before = test_free_kib();
	uint8_t *kept[GROUPS];
	struct view v[2] = { };
	struct raw_comm c;
	uint32_t i, r;
	bool good;

	ASSERT_LT(0, before);
	for (i = 0; i < GROUPS; i++) {
		begin_group(_metadata, &c, v);
		for (r = 0; r < 2; r++) {
			memset(v[r].own, 1, v[r].s.own_size);
			munmap((void *)v[r].all, v[r].s.size);
		}
		munmap(v[1].own, v[1].s.own_size);
		munmap(v[0].own + page, v[0].s.own_size - page);
		kept[i] = v[0].own;
		size += v[0].s.size;
		raw_stop(&c);
	}
	good = is_free(_metadata, before, size);
	for (i = 0; i < GROUPS; i++) {
		EXPECT_EQ(1, *kept[i]);
		munmap(kept[i], page);
	}
	return good;
}

/* Other processes use and free memory, too: one good try of three is enough. */
static bool one_of_three(struct __test_metadata *_metadata,
			 bool (*try)(struct __test_metadata *_metadata))
{
	int i;

	for (i = 0; i < 3; i++)
		if (try(_metadata))
			return true;
	return false;
}

TEST(unused_memory_is_not_there)
{
	EXPECT_TRUE(one_of_three(_metadata, unused_is_free));
}

/* A page that stays mapped when the communicator has gone keeps no other page of it. */
TEST(a_page_keeps_no_other)
{
	EXPECT_TRUE(one_of_three(_metadata, others_are_free));
}

/* Pages that have been touched. A page that is touched later is empty. */
TEST_F(shm, memory_outlives_the_communicator)
{
	const struct view *v = &self->v[0];
	const uint8_t *seen = self->v[1].all + v->s.own_offset;
	uint64_t page = sysconf(_SC_PAGESIZE), end = v->s.own_size - 1, at;
	uint32_t r;

	v->own[0] = 1;
	EXPECT_EQ(1, seen[0]);
	EXPECT_EQ(COLL_SHM_MAGIC, header(v)->magic);
	for (r = 0; r < RANKS; r++)
		close_rank(&self->c, r);
	/* A group is freed a moment later. Until then others see what is written to a new page. */
	for (at = page; at < end - page; at += page) {
		v->own[at] = 0x5a;
		if (!seen[at])
			break;
		test_sleep_us(10000000 / (end / page));
	}
	memset(v->own, 0x5a, v->s.own_size);
	EXPECT_EQ(0x5a, seen[0]);
	EXPECT_EQ(COLL_SHM_MAGIC, header(v)->magic);
	EXPECT_EQ(0x5a, v->own[end]);
	EXPECT_EQ(0, seen[end]);
}

TEST_HARNESS_MAIN
