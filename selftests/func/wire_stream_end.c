// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node. It closes a stream in the middle of an op, sends an urgent byte, or
 * sends nothing at all. The op ends with an error each time.
 */
#include <sys/socket.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL

/* A stream ends after @have bytes of the data that the op waits for. */
static void stream_ends(struct __test_metadata *_metadata, int stripe, bool hard,
			size_t have)
{
	static uint8_t buf[8192];
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	uint64_t when;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	peer_put_op(&p, &o.cmd, 1, 4096, buf);
	ASSERT_TRUE(peer_write(&p, 1, buf, have));
	test_sleep_us(1000);
	when = test_now_ns();
	peer_close(&p, stripe, hard);
	EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&o)) {
		TH_LOG("stripe %d, hard %d, after %zu", stripe, hard, have);
	}
	EXPECT_FALSE(test_late(when, o.when));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_LINK, s.cause.kind);
	EXPECT_EQ(1, s.cause.node);
	if (hard)
		EXPECT_EQ(ECONNRESET, s.cause.code);
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_stop(&p);
}

TEST(streams_end)
{
	static const size_t have[] = { 0, 1, 55, 56, 57, 100, 4000 };
	size_t i;
	int st, hard;

	for (st = 0; st < 2; st++)
		for (hard = 0; hard < 2; hard++)
			for (i = 0; i < sizeof(have) / sizeof(have[0]); i++)
				stream_ends(_metadata, st, hard, have[i]);
}

/* A read of TCP never goes past an urgent byte. No peer that is right sends one. */
TEST(urgent_byte)
{
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	int st;

	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, peer_start(&p, true));
		ASSERT_TRUE(peer_op_init(&o, &p, PEER_ALLREDUCE, 1000, 20 * SECOND));
		ASSERT_TRUE(peer_op_start(&o, &p));
		ASSERT_EQ(1, send(p.sock[st], "x", 1, MSG_OOB | MSG_NOSIGNAL));
		EXPECT_EQ(-EPROTO, peer_op_wait(&o)) TH_LOG("stream %d", st);
		ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
		EXPECT_EQ(1, s.cause.node);
		peer_op_exit(&o);
		peer_stop(&p);
	}
}

TEST(silence)
{
	struct peer_op o;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_ALLREDUCE, 1000, SECOND / 5));
	ASSERT_TRUE(peer_op_start(&o, &p));
	EXPECT_EQ(-ETIMEDOUT, peer_op_wait(&o));
	peer_op_exit(&o);
	peer_stop(&p);
	/* The same before the handshake. */
	ASSERT_EQ(0, peer_start(&p, false));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_ALLREDUCE, 1000, SECOND / 5));
	ASSERT_TRUE(peer_op_start(&o, &p));
	EXPECT_EQ(-ETIMEDOUT, peer_op_wait(&o));
	peer_op_exit(&o);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
