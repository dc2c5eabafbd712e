// SPDX-License-Identifier: GPL-2.0
/*
 * Gaps between blocks are not charged to RLIMIT_MEMLOCK. Blocks that do not fit the limit go
 * through windows, which do not touch the gaps either.
 */
#include "gaps_fixture.h"
#include "util.h"

/*
 * Each vector of a rank has @size blocks of 5 pages at most: these fit the limit. From the
 * first block to the last one it is more.
 */
TEST_F(gaps, are_not_charged)
{
	struct coll_status s;

	raw_stop(&self->g.c);
	ASSERT_EQ(0, test_become_nobody(variant->size * variant->size * 14 * GAPS_PAGE));
	ASSERT_EQ(0, raw_start(&self->g.c, variant->size, variant->nodes));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	ASSERT_EQ(0, raw_status(self->g.c.fd[0], &s));
	EXPECT_EQ(0, s.memlock_wanted);
}

TEST_F(gaps, in_windows)
{
	struct coll_status s;

	raw_stop(&self->g.c);
	ASSERT_EQ(0, test_become_nobody(GAPS_PAGE));
	ASSERT_EQ(0, raw_start(&self->g.c, variant->size, variant->nodes));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	EXPECT_EQ(0, gaps_each(&self->g, gap_is_there));
	ASSERT_EQ(0, raw_status(self->g.c.fd[0], &s));
	EXPECT_LT(0, s.memlock_wanted);
	ASSERT_EQ(0, gaps_each(&self->g, gap_unmap));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
}

TEST_HARNESS_MAIN
