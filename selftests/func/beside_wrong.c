// SPDX-License-Identifier: GPL-2.0
/*
 * Ops of one communicator side by side: the peer, which the test plays, does or sends the wrong
 * thing in one of them, and all end.
 */
#include "beside.h"

/* The peer takes the first op for one in which it has nothing to send. */
TEST(later_one_first)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_EQ(2, burst_read(&b, 10000));
	ASSERT_TRUE(burst_answer(&b, 2));
	burst_all_end(_metadata, &b, 0, EBADE, COLL_CAUSE_MISMATCH, 1);
}

/*
 * Two broadcasts run that only send, so they expect no DATA; the window of the stream is full.
 * The peer sends DATA that claims to be of the second one.
 */
static void not_expected(struct __test_metadata *_metadata, uint64_t flip, int error,
			 uint32_t kind)
{
	struct coll_frame f;
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_OUT, BURST_BYTES / 2 / 4));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	ASSERT_TRUE(burst_answer(&b, 1));
	ASSERT_TRUE(burst_answer(&b, 2));
	/* all that there is room for: each frame has 256 KiB and a header */
	for (i = 0; i < 15; i++)
		ASSERT_EQ(i < 8 ? 1 : 2, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_NE(0, peer_put_op(&b.p, &b.op[1].cmd, 2, 4096, b.buf));
	ASSERT_EQ(0, coll_wire_get_header(b.buf, &f));
	f.signature ^= flip;
	coll_wire_put_header(b.buf, &f);
	ASSERT_TRUE(peer_write(&b.p, 1, b.buf, COLL_WIRE_HDR));
	/* The first broadcast has sent all. */
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	burst_all_end(_metadata, &b, 1, error, kind, 2);
}

TEST(another_one_that_runs)	{ not_expected(_metadata, 1, EBADE, COLL_CAUSE_MISMATCH); }
TEST(not_what_runs)		{ not_expected(_metadata, 0, EPROTO, COLL_CAUSE_PROTO); }

/* The peer waits in an op that is another one to it, and announces it. */
TEST(announced_as_another_one)
{
	uint8_t buf[COLL_WIRE_HDR];
	struct coll_frame f;
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_EQ(2, burst_read(&b, 10000) + burst_read(&b, 10000) - 1);
	peer_frame(&b.p, &f, COLL_FRAME_POST, 0);
	f.seq = 2;
	f.signature = 1;
	coll_wire_put_header(buf, &f);
	ASSERT_TRUE(peer_write(&b.p, 0, buf, sizeof(buf)));
	burst_all_end(_metadata, &b, 0, EBADE, COLL_CAUSE_MISMATCH, 2);
}

/* The frames of the first op come twice: that is an error, whatever other frames are expected. */
TEST(once_more)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_answer(&b, 1));
	ASSERT_EQ(0, peer_op_wait(&b.op[0]));
	ASSERT_TRUE(burst_answer(&b, 1));
	burst_all_end(_metadata, &b, 1, EPROTO, COLL_CAUSE_PROTO, 1);
}

TEST_HARNESS_MAIN
