// SPDX-License-Identifier: GPL-2.0
/* The pages of a buffer of the ring are not pinned or charged a second time. */
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages.h"
#include "uring_fixed.h"
#include "util.h"

TEST_F(fixed, nothing_is_pinned)
{
	struct coll_cmd cmds[FIXED_MAX];
	int results[FIXED_MAX];
	uint64_t before;
	uint32_t r;

	before = pages_pinned_ever();
	ASSERT_NE(~0ULL, before);
	EXPECT_EQ(0, fixed_sum(self->f, variant->size, 0, 1 << 20, 200000));
	EXPECT_EQ(before, pages_pinned_ever());
	/* the same commands by ioctl pin pages */
	for (r = 0; r < variant->size; r++)
		cmds[r] = self->f[r].cmd;
	ASSERT_EQ(0, raw_all(&self->c, cmds, results));
	EXPECT_LT(before, pages_pinned_ever());
}

/* The limit of locked memory is enough for registered buffers only. Others go through windows. */
TEST(locked_memory_once)
{
	const size_t bytes = 1 << 20;
	struct rlimit rl = { 2 * bytes, 2 * bytes };
	struct coll_cmd cmds[2];
	struct coll_status s;
	struct fixed f[2];
	struct raw_comm c;
	int results[2];
	uint32_t r;

	ASSERT_EQ(0, chmod("/dev/coll", 0666));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &rl));
	ASSERT_EQ(0, setgroups(0, NULL) || setgid(65534) || setuid(65534));
	ASSERT_EQ(0, raw_start(&c, 2, 2));
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, fixed_init(&f[r], c.fd[r], bytes, 0));
	EXPECT_EQ(0, fixed_sum(f, 2, 0, bytes / 2, bytes / 8));
	EXPECT_EQ(0, fixed_sum(f, 2, 0, 0, bytes / 4));
	for (r = 0; r < 2; r++) {
		ASSERT_EQ(0, raw_status(c.fd[r], &s));
		EXPECT_EQ(0, s.memlock_wanted);
		EXPECT_EQ(0, s.pinned);
		cmds[r] = f[r].cmd;
	}
	ASSERT_EQ(0, raw_all(&c, cmds, results));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_LT(2 * bytes, s.memlock_wanted);
	for (r = 0; r < 2; r++)
		fixed_exit(&f[r]);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
