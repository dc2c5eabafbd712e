// SPDX-License-Identifier: GPL-2.0
/*
 * A rank posts a named collective, and the other rank does not post it before the deadline. Both
 * ranks get -ETIMEDOUT, and the communicator goes on.
 */
#include <errno.h>

#include "named_pair.h"
#include "util.h"

/*
 * Rank @first posts alone and reaches its deadline. The other rank posts later: it gets the same
 * error at once, and the name is free again.
 */
static void late(struct __test_metadata *_metadata, struct pair *p, uint32_t first)
{
	struct coll_tensor_result res;
	uint64_t when;

	pair_make(p, "late", 3);
	p->cmd[first].timeout_ns = 50 * MS;
	when = test_now_ns();
	ASSERT_EQ(0, raw_post(p->c.fd[first], &p->t[first], 1, NULL));
	expect_result(_metadata, p, first, ETIMEDOUT, &res);
	EXPECT_GE(test_now_ns(), when + 50 * MS);
	EXPECT_FALSE(test_late(when + 50 * MS, test_now_ns()));
	EXPECT_EQ(COLL_BAD_TIMEOUT, res.cause);
	EXPECT_EQ(first, res.rank[0]);
	EXPECT_TRUE(pair_alive(p));
	expect_sum(_metadata, p, "another");
	pair_make(p, "late", 3);
	ASSERT_EQ(0, raw_post(p->c.fd[!first], &p->t[!first], 1, NULL));
	expect_result(_metadata, p, !first, ETIMEDOUT, &res);
	EXPECT_EQ(COLL_BAD_TIMEOUT, res.cause);
	EXPECT_EQ(first, res.rank[0]);
	expect_sum(_metadata, p, "late");
}

TEST(deadlines)
{
	struct pair p;
	uint32_t nodes;

	for (nodes = 1; nodes <= 2; nodes++) {
		ASSERT_EQ(0, pair_start(&p, nodes));
		late(_metadata, &p, 0);
		late(_metadata, &p, 1);
		raw_stop(&p.c);
	}
}

TEST_HARNESS_MAIN
