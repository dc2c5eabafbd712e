// SPDX-License-Identifier: GPL-2.0
/*
 * A v-form touches its blocks only. The gaps between blocks may be unmapped or read-only. They
 * are not faulted in, and keep what they hold.
 */
#include "gaps_fixture.h"

TEST_F(gaps, are_not_faulted_in)
{
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	EXPECT_EQ(0, gaps_each(&self->g, gap_is_there));
}

TEST_F(gaps, may_be_missing)
{
	ASSERT_EQ(0, gaps_each(&self->g, gap_read_only));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	ASSERT_EQ(0, gaps_each(&self->g, gap_forbid));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	ASSERT_EQ(0, gaps_each(&self->g, gap_unmap));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
}

/* The address of a vector counts for nothing, only those of its blocks do. */
TEST_F(gaps, begin_anywhere)
{
	self->g.before = 1ULL << 28;
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	/* The vector would begin below the address 0. */
	self->g.before = ((uintptr_t)self->g.mem[0] + (1ULL << 30)) / sizeof(int32_t);
	EXPECT_EQ(-EFAULT, gaps_each_kind(&self->g));
}

TEST_F(gaps, are_left_alone)
{
	ASSERT_EQ(0, gaps_each(&self->g, gap_mark));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
	EXPECT_EQ(0, gaps_each(&self->g, gap_is_hurt));
}

TEST_HARNESS_MAIN
