// SPDX-License-Identifier: GPL-2.0
/*
 * Shared memory of the ranks of a node: how long its pages exist. A page is allocated when it is
 * touched, and is there until it is unmapped, also when the communicator has gone.
 */
#include <stdio.h>

#include "shm.h"
#include "util.h"

/* What a page has that nobody has written: zeroes. What is written there, others see. */
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

/* Return: bytes that are free, or -1. */
static long long free_bytes(void)
{
	long long kib = -1;
	char line[128];
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %lld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib < 0 ? -1 : kib * 1024;
}

#define GROUPS	40

TEST(unused_memory_is_not_there)
{
	struct raw_comm c[GROUPS];
	struct view v[2] = { };
	long long before;
	uint64_t size = 0;
	uint32_t i, r;

	before = free_bytes();
	ASSERT_LT(0, before);
	for (i = 0; i < GROUPS; i++) {
		ASSERT_EQ(0, raw_start(&c[i], 2, 1));
		for (r = 0; r < 2; r++) {
			memset(&v[r].s, 0, sizeof(v[r].s));
			v[r].fd = c[i].fd[r];
			ASSERT_EQ(0, shm_ioctl(v[r].fd, &v[r].s));
		}
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, map_rank(&v[r]));
			/* It is mapped, and not used. */
			munmap((void *)v[r].all, v[r].s.size);
			munmap(v[r].own, v[r].s.own_size);
		}
		size += v[0].s.size;
	}
	EXPECT_GT(size / 4, before - free_bytes()) {
		TH_LOG("%llu bytes of shared memory, and %lld of the machine's are gone",
		       (unsigned long long)size, before - free_bytes());
	}
	for (i = 0; i < GROUPS; i++)
		raw_stop(&c[i]);
}

TEST_F(shm, memory_outlives_the_communicator)
{
	const struct view *v = &self->v[0];
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		close_rank(&self->c, r);
	/* A group is freed a moment later. */
	test_sleep_us(300000);
	memset(v->own, 0x5a, v->s.own_size);
	EXPECT_EQ(0x5a, self->v[1].all[v->s.own_offset]);
	EXPECT_EQ(COLL_SHM_MAGIC, header(v)->magic);
}

TEST_HARNESS_MAIN
