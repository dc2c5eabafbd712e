// SPDX-License-Identifier: GPL-2.0
/*
 * Ops of one communicator side by side: what a peer, which the test plays, sees before it has
 * answered anything.
 */
#include "beside.h"

/* Each op begins before the peer has answered the ones before it, and all end well. */
TEST(all_begin)
{
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 6; i++)
		ASSERT_TRUE(burst_post(&b, i % 2 ? PEER_BARRIER : PEER_BCAST_IN, BURST_COUNT));
	for (i = 1; i <= 6; i++)
		ASSERT_EQ(i, burst_read(&b, 10000));
	for (i = 1; i <= 6; i++)
		ASSERT_TRUE(burst_answer(&b, i));
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(0, peer_op_wait(&b.op[i]));
		EXPECT_EQ(0, peer_op_wrong(&b.op[i]));
	}
	EXPECT_EQ(0, burst_stop(&b));
}

/* A transfer that waits for the peer blocks the later ones on its stream. */
TEST(in_order_on_a_stream)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_ALLREDUCE, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	/* its own half; the sum of the other one needs what the peer has */
	ASSERT_EQ(1, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 1));
	EXPECT_EQ(1, burst_read(&b, 10000));
	EXPECT_EQ(2, burst_read(&b, 10000));
	ASSERT_TRUE(burst_answer(&b, 2));
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	EXPECT_EQ(0, peer_op_wait(&b.op[1]));
	EXPECT_EQ(0, peer_op_wrong(&b.op[0]));
	EXPECT_EQ(0, burst_stop(&b));
}

/* As many ops run as are allowed, and one more for each that has ended. */
TEST(so_many)
{
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < BURST_RUN + 3; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	for (i = 1; i <= BURST_RUN; i++)
		ASSERT_EQ(i, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	for (i = 1; i <= BURST_RUN + 3; i++) {
		ASSERT_TRUE(burst_answer(&b, i));
		EXPECT_EQ(0, peer_op_wait(&b.op[i - 1]));
		if (i <= 3)
			EXPECT_EQ(BURST_RUN + i, burst_read(&b, 10000));
	}
	EXPECT_EQ(0, burst_stop(&b));
}

/* A large op waits until it fits beside the others; alone it may be of any size. */
TEST(so_much)
{
	static const uint32_t bytes[] = {
		BURST_BYTES + 4, BURST_BYTES / 4 * 3, BURST_BYTES / 4, 4096, BURST_BYTES,
	};
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, bytes[i] / 4));
	ASSERT_EQ(1, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 1));
	/* ops 2 and 3 fit exactly; op 4 has no room beside them; op 5 runs alone */
	EXPECT_EQ(2, burst_read(&b, 10000));
	EXPECT_EQ(3, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 2));
	EXPECT_EQ(4, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 3));
	ASSERT_TRUE(burst_answer(&b, 4));
	EXPECT_EQ(5, burst_read(&b, 10000));
	ASSERT_TRUE(burst_answer(&b, 5));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, peer_op_wait(&b.op[i]));
		EXPECT_EQ(0, peer_op_wrong(&b.op[i]));
	}
	EXPECT_EQ(0, burst_stop(&b));
}

TEST_HARNESS_MAIN
