// SPDX-License-Identifier: GPL-2.0
/* The memory of blocks and of gaps changes between ops, or is missing. */
#include <errno.h>
#include <sys/mman.h>

#include "gaps_fixture.h"
#include "util.h"

/*
 * Pins are kept from one op to the next. A change of a block must show in the result, and a
 * change in a gap must not.
 */
TEST_F(gaps, memory_that_changes)
{
	int round;
	uint32_t r;

	for (round = 0; round < 12; round++) {
		EXPECT_EQ(0, gaps_each_kind(&self->g));
		EXPECT_EQ(0, gaps_each_kind(&self->g));
		ASSERT_EQ(0, gaps_each(&self->g, round % 2 ? gap_throw_away : gap_unmap));
		EXPECT_EQ(0, gaps_each_kind(&self->g));
		for (r = 0; r < variant->size; r++)
			ASSERT_EQ(self->g.mem[r], gaps_memory(self->g.mem[r]));
	}
}

TEST_F(gaps, a_block_that_is_missing)
{
	char *page = gaps_slot(&self->g, 0, gaps_out_slot(&self->g, 0)) - GAPS_HEAD;
	int64_t posted = test_posted(&self->g.c, 0);

	gaps_prepare(&self->g, COLL_ALLTOALLV);
	/* A bad first page of a block is refused at once; with windows a bad last page is, too. */
	ASSERT_EQ(0, mprotect(page, GAPS_PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, raw_submit(self->g.c.fd[0], &self->g.cmds[0]));
	ASSERT_EQ(0, munmap(page, GAPS_PAGE));
	EXPECT_EQ(-EFAULT, raw_submit(self->g.c.fd[0], &self->g.cmds[0]));
	ASSERT_EQ(self->g.mem[0], gaps_memory(self->g.mem[0]));
	EXPECT_EQ(posted, test_posted(&self->g.c, 0));
	EXPECT_EQ(0, gaps_each_kind(&self->g));
}

TEST_HARNESS_MAIN
