// SPDX-License-Identifier: GPL-2.0
/*
 * A peer says ABORT or BYE again and again. Each costs a walk through what is posted, so one
 * ABORT is allowed, and one BYE of each rank.
 */
#include <errno.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL

TEST(one_bye_of_a_rank)
{
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];
	struct coll_status s;
	struct peer p;
	size_t n;

	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, PEER_RANK, 0, buf);
	ASSERT_TRUE(peer_write(&p, 0, buf, n));
	test_sleep_us(100000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_NE(COLL_STATE_FAILED, s.state);
	ASSERT_TRUE(peer_write(&p, 0, buf, n));
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);
}

/* The first ABORT is about a later op: the one that is running goes on. The second ABORT ends it. */
TEST(one_abort)
{
	struct coll_cause later = {
		.kind = COLL_CAUSE_CLOSE, .error = EHOSTDOWN, .rank = 1, .node = 1, .seq = 5,
	};
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	size_t n;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BARRIER, 0, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	test_sleep_us(50000);
	n = peer_put_abort(&p, &later, buf);
	ASSERT_TRUE(peer_write(&p, 0, buf, n));
	test_sleep_us(100000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_NE(COLL_STATE_FAILED, s.state);
	ASSERT_TRUE(peer_write(&p, 0, buf, n));
	EXPECT_EQ(-EPROTO, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_stop(&p);
}

TEST_HARNESS_MAIN
