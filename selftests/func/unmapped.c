// SPDX-License-Identifier: GPL-2.0
/*
 * Memory is taken away while an op has it pinned: by madvise(), by munmap(), by truncating or
 * punching the file it maps. The op ends well on the pages it has, and nothing is hurt.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define COUNT	65536
#define BYTES	(COUNT * 4UL)

#ifndef MADV_FREE
#define MADV_FREE	8
#endif

enum loss { FREE, DONTNEED, UNMAP, PROTECT, TRUNCATE, PUNCH };

/* Rank 0's op waits for rank 1 until its buffer has been taken. */
struct waiting {
	int fd, result;
	struct coll_cmd cmd;
};

static void *submit(void *arg)
{
	struct waiting *w = arg;

	w->result = raw_submit(w->fd, &w->cmd);
	return NULL;
}

static int take(enum loss how, int32_t *buf, int file)
{
	switch (how) {
	case FREE:
		return madvise(buf, BYTES, MADV_FREE);
	case DONTNEED:
		return madvise(buf, BYTES, MADV_DONTNEED);
	case UNMAP:
		return munmap(buf, BYTES);
	case PROTECT:
		return mprotect(buf, BYTES, PROT_NONE);
	case TRUNCATE:
		return ftruncate(file, 0);
	case PUNCH:
		return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BYTES);
	}
	return -1;
}

static void lose(struct __test_metadata *_metadata, enum loss how, uint32_t nodes)
{
	int file = memfd_create("coll", MFD_CLOEXEC);
	static int32_t other[COUNT];
	struct coll_cmd cmd;
	struct waiting w;
	struct raw_comm c;
	pthread_t thread;
	uint64_t i, wrong;
	int32_t *buf;

	ASSERT_EQ(0, ftruncate(file, BYTES));
	buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		   how >= TRUNCATE ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
		   how >= TRUNCATE ? file : -1, 0);
	ASSERT_NE(MAP_FAILED, buf);
	for (i = 0; i < COUNT; i++) {
		buf[i] = test_value(0, i);
		other[i] = test_value(1, i);
	}
	ASSERT_EQ(0, raw_start(&c, 2, nodes));
	ASSERT_EQ(0, test_good(&c));
	raw_allreduce(&w.cmd, NULL, buf, COUNT, COLL_I32, COLL_OP_SUM);
	w.cmd.timeout_ns = 10 * SECOND;
	w.fd = c.fd[0];
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit, &w));
	while (test_posted(&c, 0) < 2)
		test_sleep_us(1000);
	ASSERT_EQ(0, take(how, buf, file));
	raw_allreduce(&cmd, NULL, other, COUNT, COLL_I32, COLL_OP_SUM);
	cmd.timeout_ns = 10 * SECOND;
	EXPECT_EQ(0, raw_submit(c.fd[1], &cmd)) TH_LOG("loss %d, %u nodes", how, nodes);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, w.result) TH_LOG("loss %d, %u nodes", how, nodes);
	/* Pinned pages kept what was in them. */
	for (i = 0, wrong = 0; i < COUNT; i++)
		wrong += other[i] != test_value_sum(2, i);
	EXPECT_EQ(0, wrong) TH_LOG("loss %d, %u nodes", how, nodes);
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	if (how != UNMAP)
		munmap(buf, BYTES);
	close(file);
}

static void lose_each(struct __test_metadata *_metadata, enum loss how)
{
	lose(_metadata, how, 1);
	lose(_metadata, how, 2);
}

TEST(madvise_free)	{ lose_each(_metadata, FREE); }
TEST(madvise_dontneed)	{ lose_each(_metadata, DONTNEED); }
TEST(unmapped)		{ lose_each(_metadata, UNMAP); }
TEST(protected)		{ lose_each(_metadata, PROTECT); }
TEST(truncated)		{ lose_each(_metadata, TRUNCATE); }
TEST(hole_punched)	{ lose_each(_metadata, PUNCH); }

TEST_HARNESS_MAIN
