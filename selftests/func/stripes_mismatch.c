// SPDX-License-Identifier: GPL-2.0
/*
 * Links that are missing, or whose ends have different numbers, and nodes with different settings.
 * All ranks get the error.
 */
#include <errno.h>
#include <unistd.h>

#include "stripes.h"

/* An op needs a link that does not exist, or has only one of its two streams. */
TEST(missing)
{
	struct coll_status s;
	struct raw_comm c;
	int half, sv[2];

	for (half = 0; half < 2; half++) {
		ASSERT_EQ(0, raw_start_links(&c, 2, 2, 2));
		ASSERT_EQ(0, raw_tcp_pair(sv));
		if (half) {
			EXPECT_EQ(0, raw_link(c.fd[0], 1, sv[0], 5));
			EXPECT_EQ(0, raw_link(c.fd[1], 0, sv[1], 5));
		}
		EXPECT_EQ(0, raw_stripes(&c, 3, LEAST));
		/* Small ops, and ops that use two links, do not need it. */
		EXPECT_EQ(0, sum(&c, LEAST / 4));
		EXPECT_EQ(0, sum(&c, 2 * LEAST / 4));
		EXPECT_EQ(-ENOTCONN, sum(&c, 3 * LEAST / 4));
		EXPECT_EQ(0, raw_status(c.fd[0], &s));
		EXPECT_EQ(COLL_STATE_FAILED, s.state);
		EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
		raw_stop(&c);
		close(sv[0]);
		close(sv[1]);
	}
}

/* The status counts the links that are established. */
TEST(status)
{
	struct coll_status s = { };
	struct raw_comm c;
	int i;

	ASSERT_EQ(0, raw_start_links(&c, 3, 3, 4));
	for (i = 0; i < 10000 && s.nr_links != 8; i++) {
		ASSERT_EQ(0, raw_status(c.fd[0], &s));
		test_sleep_us(1000);
	}
	EXPECT_EQ(8, s.nr_links);
	EXPECT_EQ(COLL_STATE_READY, s.state);
	raw_stop(&c);
}

/* Nodes have different settings: all ranks get -EBADE, for ops of any size. */
TEST(nodes_disagree)
{
	static const struct { uint32_t links; uint64_t least; } other[] = {
		{ 1, 0 }, { 2, LEAST }, { 4, LEAST }, { 3, LEAST + 1 }, { 3, 0 },
	};
	static const uint64_t counts[] = { 1, LEAST / 4, COUNT, 100003 };
	struct coll_status s;
	struct raw_comm c;
	uint32_t i, k, r;

	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			ASSERT_EQ(0, raw_start_links(&c, 4, 2, 4));
			ASSERT_EQ(0, raw_stripes(&c, 3, LEAST));
			ASSERT_EQ(0, raw_stripe(c.fd[3], other[i].links, other[i].least));
			EXPECT_EQ(-EBADE, sum(&c, counts[k]))
				TH_LOG("other %u, count %llu", i,
				       (unsigned long long)counts[k]);
			for (r = 0; r < c.size; r++) {
				ASSERT_EQ(0, raw_status(c.fd[r], &s));
				EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
			}
			raw_stop(&c);
		}
	}
}

/* The two ends of a stream were given different numbers. */
TEST(crossed)
{
	static const uint32_t pairs[][2] = { { 2, 4 }, { 3, 5 }, { 0, 2 }, { 15, 1 } };
	struct coll_status s;
	struct raw_comm c;
	uint32_t i, k;
	int sv[2];

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		raw_plan(&c, 2, 2);
		for (k = 0; k < 2; k++) {
			c.fd[k] = raw_open();
			ASSERT_EQ(0, raw_join(c.fd[k], &c, k));
		}
		ASSERT_EQ(0, raw_tcp_pair(sv));
		EXPECT_EQ(0, raw_link(c.fd[0], 1, sv[0], pairs[i][0]));
		EXPECT_EQ(0, raw_link(c.fd[1], 0, sv[1], pairs[i][1]));
		ASSERT_EQ(0, raw_status_failed(c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
		EXPECT_EQ(EPROTO, s.cause.error);
		close(sv[0]);
		close(sv[1]);
		raw_stop(&c);
	}
}

TEST_HARNESS_MAIN
