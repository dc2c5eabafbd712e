// SPDX-License-Identifier: GPL-2.0
/*
 * The application unmaps, unregisters, replaces or overwrites its buffer. A command reads and
 * writes the pages that were registered when it was posted, and only until it completes.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "uring_fixed.h"
#include "util.h"

/* The pages count, not the addresses: nothing is mapped there any more. */
TEST_F(fixed, mapping_gone)
{
	struct fixed *f = self->f;
	uint32_t r, size = variant->size;

	for (r = 0; r < size; r++) {
		int fd = memfd_create("fixed", 0);

		ASSERT_EQ(0, ftruncate(fd, f[r].bytes));
		ASSERT_EQ(0, io_uring_unregister_buffers(&f[r].ring));
		ASSERT_EQ(f[r].mem, mmap(f[r].mem, f[r].bytes, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_FIXED, fd, 0));
		f[r].view = mmap(NULL, f[r].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT_NE(MAP_FAILED, f[r].view);
		close(fd);
		ASSERT_EQ(0, fixed_register(&f[r]));
		ASSERT_EQ(0, munmap(f[r].mem, f[r].bytes));
	}
	EXPECT_EQ(0, fixed_sum(f, size, 0, 0, 1));
	EXPECT_EQ(0, fixed_sum(f, size, 0, 4096, 100));
	EXPECT_EQ(0, fixed_sum(f, size, 77, 1 << 20, 200000));
	EXPECT_EQ(0, fixed_sum(f, size, 77, 77, 200000));
}

static void *unregister(void *arg)
{
	struct fixed *f = arg;

	return (void *)(intptr_t)io_uring_unregister_buffers(&f->ring);
}

/* Linux 6.1 and 6.12 unregister when what is in flight has ended, later ones at once. */
TEST_F(fixed, unregistered_in_flight)
{
	uint32_t size = variant->size, r, round;
	struct fixed *f = self->f;
	const uint64_t n = 300000;
	pthread_t thread;
	void *ret;

	for (round = 0; round < 3; round++) {
		for (r = 0; r < size; r++) {
			fixed_fill(&f[r], r, 0, n);
			memset(f[r].mem + 4 * n, 0xee, 4 * n);
			raw_allreduce(&f[r].cmd, f[r].mem, f[r].mem + 4 * n, n, COLL_I32,
				      COLL_OP_SUM);
		}
		ASSERT_EQ(0, fixed_post(&f[0], 0));
		ASSERT_EQ(0, pthread_create(&thread, NULL, unregister, &f[0]));
		test_sleep_us(20000);
		for (r = 1; r < size; r++)
			ASSERT_EQ(0, fixed_post(&f[r], 0));
		for (r = 0; r < size; r++) {
			EXPECT_EQ(0, fixed_result(&f[r]));
			EXPECT_EQ(0, fixed_wrong(&f[r], size, 4 * n, n));
		}
		ASSERT_EQ(0, pthread_join(thread, &ret));
		EXPECT_EQ(NULL, ret);
		ASSERT_EQ(0, fixed_post(&f[0], 0));
		EXPECT_EQ(-EFAULT, fixed_result(&f[0]));
		ASSERT_EQ(0, fixed_register(&f[0]));
	}
}

/* Another buffer in its place: the op keeps the one it was posted with. */
TEST_F(fixed, replaced_in_flight)
{
	uint32_t size = variant->size, r;
	struct fixed *f = self->f;
	const uint64_t n = 200000;
	struct iovec iov = { .iov_len = f->bytes };
	__u64 tag = 0;

	iov.iov_base = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (r = 0; r < size; r++) {
		fixed_fill(&f[r], r, 0, n);
		raw_allreduce(&f[r].cmd, f[r].mem, f[r].mem + 4 * n, n, COLL_I32, COLL_OP_SUM);
	}
	ASSERT_EQ(0, fixed_post(&f[0], 0));
	ASSERT_EQ(1, io_uring_register_buffers_update_tag(&f->ring, 0, &iov, &tag, 1));
	for (r = 1; r < size; r++)
		ASSERT_EQ(0, fixed_post(&f[r], 0));
	for (r = 0; r < size; r++) {
		EXPECT_EQ(0, fixed_result(&f[r]));
		EXPECT_EQ(0, fixed_wrong(&f[r], size, 4 * n, n));
	}
	ASSERT_EQ(0, fixed_post(&f[0], 0));
	EXPECT_EQ(-EFAULT, fixed_result(&f[0]));
	munmap(iov.iov_base, iov.iov_len);
}

static bool set_send_mode(const char *mode)
{
	FILE *f = fopen("/sys/module/coll/parameters/send_mode", "w");

	return f && fprintf(f, "%s\n", mode) > 0 && !fclose(f);
}

/* Pages that were lent to a socket are back when the command completes. */
TEST_F(fixed, overwritten_at_once)
{
	static const char *const modes[] = { "splice", "ubuf", "copy" };
	uint32_t size = variant->size, r, i, m;
	struct fixed *f = self->f;
	const uint64_t n = 400000;

	for (m = 0; m < 3; m++) {
		ASSERT_TRUE(set_send_mode(modes[m]));
		for (i = 0; i < test_scale(20) + 1; i++) {
			for (r = 0; r < size; r++) {
				fixed_fill(&f[r], r, 0, n);
				raw_allreduce(&f[r].cmd, f[r].mem, f[r].mem + 4 * n, n,
					      COLL_I32, COLL_OP_SUM);
				ASSERT_EQ(0, fixed_post(&f[r], 0));
			}
			for (r = 0; r < size; r++) {
				ASSERT_EQ(0, fixed_result(&f[r]));
				EXPECT_EQ(0, fixed_wrong(&f[r], size, 4 * n, n))
					TH_LOG("%s", modes[m]);
				memset(f[r].mem, 0xee, 8 * n);
			}
		}
	}
	EXPECT_TRUE(set_send_mode("auto"));
}

TEST_HARNESS_MAIN
