// SPDX-License-Identifier: GPL-2.0
/* Kinds of rings, and a buffer of huge pages. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "fixed.h"
#include "harness.h"
#include "raw.h"

#define PAGE	4096UL

/* Pages that io_uring keeps as one piece: it begins anywhere, and ends anywhere. */
TEST(huge_pages)
{
	const size_t huge = 2 << 20, off = 5 * PAGE + 100;
	struct fixed f[2];
	struct raw_comm c;
	FILE *nr = fopen("/proc/sys/vm/nr_hugepages", "w");
	uint32_t r;

	if (!nr || fputs("8", nr) < 0 || fclose(nr))
		SKIP(return, "no huge pages in this kernel");
	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++) {
		char *map = mmap(NULL, 3 * huge, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
		struct iovec iov = { map + off, 3 * huge - 2 * off };

		ASSERT_NE(MAP_FAILED, map);
		ASSERT_EQ(0, fixed_init(&f[r], c.fd[r], PAGE, 0));
		ASSERT_EQ(0, io_uring_unregister_buffers(&f[r].ring));
		ASSERT_EQ(0, io_uring_register_buffers(&f[r].ring, &iov, 1));
		f[r].mem = map;
		f[r].view = map;
		f[r].bytes = 3 * huge;
	}
	EXPECT_EQ(0, fixed_sum(f, 2, off, off, 1));
	EXPECT_EQ(0, fixed_sum(f, 2, off, huge + off, 100000));
	EXPECT_EQ(0, fixed_sum(f, 2, huge - 400, 2 * huge - 4, 100));
	EXPECT_EQ(0, fixed_sum(f, 2, off, off + 2 * huge, 300001));
	EXPECT_EQ(0, fixed_sum(f, 2, huge + 1, huge + 1, (2 * huge - off - 8) / 4));
	for (r = 0; r < 2; r++)
		fixed_exit(&f[r]);
	raw_stop(&c);
}

/* The result does not depend on the thread that issues the command, nor on the moment. */
TEST(kinds_of_rings)
{
	static const struct { unsigned int setup, sqe; } kinds[] = {
		{ 0, IOSQE_ASYNC }, { IORING_SETUP_SQE128, 0 }, { IORING_SETUP_SQPOLL, 0 },
		{ 1U << 12 | 1U << 13, 0 },	/* SINGLE_ISSUER | DEFER_TASKRUN */
	};
	struct io_uring_sqe *sqe;
	struct fixed f[2];
	struct raw_comm c;
	uint32_t r, k;

	for (k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		ASSERT_EQ(0, raw_start(&c, 2, 2));
		for (r = 0; r < 2; r++) {
			ASSERT_EQ(0, fixed_init(&f[r], c.fd[r], 1 << 20, kinds[k].setup));
			fixed_fill(&f[r], r, 12, 100000);
			raw_allreduce(&f[r].cmd, f[r].mem + 12, f[r].mem + 500000, 100000,
				      COLL_I32, COLL_OP_SUM);
			sqe = fixed_sqe(&f[r], 0);
			if (kinds[k].setup & IORING_SETUP_SQE128)
				memset((char *)sqe + 64, 0, 64);
			sqe->flags |= kinds[k].sqe;
			ASSERT_EQ(1, io_uring_submit(&f[r].ring));
		}
		for (r = 0; r < 2; r++) {
			EXPECT_EQ(0, fixed_result(&f[r])) TH_LOG("kind %u", k);
			EXPECT_EQ(0, fixed_wrong(&f[r], 2, 500000, 100000));
			fixed_exit(&f[r]);
		}
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
