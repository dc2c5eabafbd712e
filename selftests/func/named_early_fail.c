// SPDX-License-Identifier: GPL-2.0
/*
 * A fusion of a small and a large tensor fails, or its rank closes its file, before or after the
 * small tensor has ended. Each tensor has one result.
 */
#include <errno.h>

#include "named_early_pair.h"

/* The communicator fails after the small one has ended. Only the large one gets an error. */
TEST(the_large_one_fails)
{
	struct coll_tensor_result res;
	struct coll_status s;
	struct pair *j;

	ASSERT_LE(0, stalls_open());
	j = pair_start(_metadata, PAGES);
	small_ends(_metadata, j);
	spoil(j);
	shutdown(j->p.sock[1], SHUT_RDWR);
	ASSERT_EQ(1, collect(j, &res, 20 * SECOND));
	EXPECT_EQ(LARGE_TAG, res.tag);
	EXPECT_EQ(-EHOSTDOWN, res.result);
	EXPECT_EQ(0, collect(j, &res, SECOND));
	EXPECT_EQ(0, touched(j));
	ASSERT_EQ(0, raw_status(j->p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
	pair_stop(j);
}

/* The communicator fails before either has ended. Each gets one error. */
TEST(both_fail)
{
	struct coll_tensor_result res[2];
	struct pair *j;

	ASSERT_LE(0, stalls_open());
	j = pair_start(_metadata, PAGES);
	ASSERT_TRUE(put(j, 0, 1, 0, chunk(j, 1), false));
	ASSERT_EQ(0, raw_abort(j->p.c.fd[0], 7));
	ASSERT_EQ(2, raw_collect(j->p.c.fd[0], res, 2, 2, 20 * SECOND));
	EXPECT_EQ(SMALL_TAG + LARGE_TAG, res[0].tag + res[1].tag);
	EXPECT_EQ(-ESHUTDOWN, res[0].result);
	EXPECT_EQ(-ESHUTDOWN, res[1].result);
	EXPECT_EQ(0, collect(j, res, SECOND));
	pair_stop(j);
}

/* The rank closes its file while the large one runs, with and without the small one's result. */
TEST(the_rank_goes)
{
	struct pair *j;

	ASSERT_LE(0, stalls_open());
	j = pair_start(_metadata, PAGES);
	small_ends(_metadata, j);
	pair_stop(j);
	j = pair_start(_metadata, SLOT);
	ASSERT_TRUE(put_first(j));
	test_sleep_us(100000);
	pair_stop(j);
}

TEST_HARNESS_MAIN
