// SPDX-License-Identifier: GPL-2.0
/*
 * Ops of one communicator side by side: the last rank of the peer, which the test plays, leaves
 * after one of them.
 */
#include <sys/socket.h>

#include "beside.h"

#define NEWS_US	1000000		/* the news travels */

/* The last rank of the peer leaves after the first op: that op ends well. */
static void leaves(struct __test_metadata *_metadata, bool bye_first, bool closes)
{
	uint8_t bye[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];
	struct burst b;
	size_t n;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_EQ(2, burst_read(&b, 10000));
	n = peer_put_bye(&b.p, PEER_RANK, 1, bye);
	if (bye_first)
		ASSERT_TRUE(peer_write(&b.p, 0, bye, n));
	ASSERT_TRUE(burst_answer(&b, 1));
	if (!bye_first)
		ASSERT_TRUE(peer_write(&b.p, 0, bye, n));
	if (closes) {
		shutdown(b.p.sock[1], SHUT_WR);
		shutdown(b.p.sock[0], SHUT_WR);
	}
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	EXPECT_EQ(0, peer_op_wrong(&b.op[0]));
	burst_all_end(_metadata, &b, 1, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

TEST(leaves_after_the_first)		{ leaves(_metadata, false, false); }
TEST(leaves_before_it_is_through)	{ leaves(_metadata, true, false); }
TEST(leaves_and_closes)			{ leaves(_metadata, true, true); }

/* Rank 1 leaves after the first op. Wait until rank 0 knows it. */
static bool burst_bye(struct burst *b)
{
	uint8_t bye[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	if (!peer_write(&b->p, 0, bye, peer_put_bye(&b->p, PEER_RANK, 1, bye)))
		return false;
	return peer_has_left(&b->p);
}

/* An op posted after the BYE also waits for the op before it. The status tells the cause. */
TEST(posted_after_the_last)
{
	struct coll_status s;
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_TRUE(burst_bye(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_EQ(0, raw_status(b.p.c.fd[0], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state);
	EXPECT_EQ(0, s.completed);
	ASSERT_TRUE(burst_answer(&b, 1));
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	EXPECT_EQ(0, peer_op_wrong(&b.op[0]));
	burst_all_end(_metadata, &b, 1, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

/*
 * A message to or from the rank that has left cannot complete, and ends alone: the collective
 * is not over yet.
 */
TEST(message_after_the_last)
{
	struct coll_status s;
	struct peer_op msg;
	struct burst b;
	unsigned int i;
	bool before;

	for (i = 0; i < 6; i++) {
		before = i >= 3;
		ASSERT_TRUE(burst_start(&b));
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
		ASSERT_EQ(1, burst_read(&b, 10000));
		ASSERT_TRUE(peer_op_init(&msg, &b.p, PEER_BCAST_IN, 4, 0));
		if (i % 3)
			raw_recv(&msg.cmd, msg.out.mem, 4, COLL_I32,
				 i % 3 == 1 ? PEER_RANK : COLL_RANK_ANY, COLL_TAG_ANY, NULL);
		else
			raw_send(&msg.cmd, msg.out.mem, 4, COLL_I32, PEER_RANK, 1);
		if (before)
			ASSERT_TRUE(peer_op_start(&msg, &b.p));
		test_sleep_us(50000);
		ASSERT_TRUE(burst_bye(&b));
		if (!before)
			ASSERT_TRUE(peer_op_start(&msg, &b.p));
		EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&msg)) TH_LOG("case %u", i);
		EXPECT_EQ(0, peer_op_exit(&msg));
		ASSERT_EQ(0, raw_status(b.p.c.fd[0], &s));
		EXPECT_EQ(COLL_STATE_READY, s.state);
		ASSERT_TRUE(burst_answer(&b, 1));
		EXPECT_EQ(0, peer_op_wait(&b.op[0]));
		EXPECT_EQ(0, peer_op_wrong(&b.op[0]));
		EXPECT_EQ(0, burst_stop(&b));
	}
}

/*
 * The node of the partner has failed, because another rank had left before an op: a message
 * ends with the same error.
 */
static void message_to_who_has_failed(struct __test_metadata *_metadata, bool before)
{
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];
	struct coll_cause cause = {
		.kind = COLL_CAUSE_CLOSE, .error = EHOSTDOWN, .rank = PEER_RANK, .node = 1,
		.seq = 2,
	};
	struct coll_status s = { };
	struct peer_op msg;
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_TRUE(peer_op_init(&msg, &b.p, PEER_BCAST_IN, 4, 0));
	raw_recv(&msg.cmd, msg.out.mem, 4, COLL_I32, PEER_RANK, COLL_TAG_ANY, NULL);
	if (before)
		ASSERT_TRUE(peer_op_start(&msg, &b.p));
	while (before && !s.messages)
		ASSERT_EQ(0, raw_status(b.p.c.fd[0], &s));
	ASSERT_TRUE(peer_write(&b.p, 0, buf, peer_put_abort(&b.p, &cause, buf)));
	test_sleep_us(NEWS_US);
	if (!before)
		ASSERT_TRUE(peer_op_start(&msg, &b.p));
	EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&msg));
	EXPECT_EQ(0, peer_op_exit(&msg));
	burst_all_end(_metadata, &b, 0, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

TEST(message_while_it_fails)	{ message_to_who_has_failed(_metadata, true); }
TEST(message_when_it_has)	{ message_to_who_has_failed(_metadata, false); }

/* An op that cannot complete reports its own cause, not a timeout. */
TEST(deadline_after_the_last)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_TRUE(burst_bye(&b));
	ASSERT_TRUE(peer_op_init(&b.op[1], &b.p, PEER_BCAST_IN, BURST_COUNT, BURST_SECOND / 10));
	ASSERT_TRUE(peer_op_start(&b.op[1], &b.p));
	b.nr++;
	burst_all_end(_metadata, &b, 0, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

TEST_HARNESS_MAIN
