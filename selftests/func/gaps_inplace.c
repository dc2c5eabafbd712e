// SPDX-License-Identifier: GPL-2.0
/* alltoallv in place: blocks to send lie in the gaps between blocks to receive. */
#include "gaps_fixture.h"

/*
 * alltoallv in place, the result partly over the input, partly in other places. Blocks of
 * the result lie @shift elements behind those of the input of the rank @turn further on.
 */
static int64_t in_place(struct gaps *g, uint32_t turn, uint64_t shift)
{
	uint32_t n = g->c.size, r, i;
	int results[GAPS_MAX], ret;
	uint64_t wrong = 0;

	gaps_prepare(g, COLL_ALLTOALLV);
	for (r = 0; r < n; r++) {
		g->cmds[r].send_addr = 0;
		g->cmds[r].flags |= COLL_CMD_INPLACE;
		for (i = 0; i < n; i++)
			g->displs[r][n + i] = gaps_displ(g, gaps_in_slot((i + turn) % n)) + shift;
	}
	ret = raw_all(&g->c, g->cmds, results);
	for (r = 0; !ret && r < n; r++)
		ret = results[r];
	for (r = 0; !ret && r < n; r++)
		for (i = 0; i < n; i++)
			wrong += gaps_wrong_block(g, gaps_slot(g, r, gaps_in_slot((i + turn) % n)) +
						  shift * sizeof(int32_t), i, r);
	return ret ? ret : (int64_t)wrong;
}

TEST_F(gaps, in_place)
{
	ASSERT_EQ(0, gaps_each(&self->g, gap_unmap));
	EXPECT_EQ(0, in_place(&self->g, 0, 0));
	EXPECT_EQ(0, in_place(&self->g, 1, 0));
	EXPECT_EQ(0, in_place(&self->g, 0, 1));
	EXPECT_EQ(0, in_place(&self->g, 1, 1001));
}

TEST_HARNESS_MAIN
