// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node of two communicators on the same streams: HELLO and PROOF of the
 * second one, in every order, and wrong ones.
 */
#include "harness.h"
#include "two.h"

/* The peer is first: no one has heard its HELLO, so it has to send it again. */
TEST(peer_first)
{
	struct coll_frame f;
	struct two t;

	ASSERT_EQ(0, two_start(&t));
	ASSERT_TRUE(two_hello(&t, &t.b));
	EXPECT_FALSE(peer_read(&t.a, 0, &f, TWO_QUIET)) TH_LOG("type %u", f.type);
	ASSERT_EQ(0, two_attach(&t));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	EXPECT_EQ(0, two_works(&t.a, PEER_BARRIER));
	ASSERT_TRUE(two_hello(&t, &t.b));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	ASSERT_TRUE(peer_is_proved(&t.b, &t.a, 0));
	EXPECT_EQ(0, two_error(&t.b));
	ASSERT_TRUE(two_proof(&t, &t.b));
	EXPECT_EQ(0, two_works(&t.b, PEER_ALLREDUCE));
	EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE));
	two_stop(&t);
}

/* The rank is first: it answers the peer's HELLO with another HELLO. */
TEST(rank_first)
{
	struct coll_frame f;
	struct two t;

	ASSERT_EQ(0, two_establish(&t));
	EXPECT_FALSE(peer_read(&t.a, 0, &f, TWO_QUIET)) TH_LOG("type %u", f.type);
	EXPECT_EQ(0, two_works(&t.b, PEER_BCAST_IN));
	/* the handshake is over */
	ASSERT_TRUE(two_hello(&t, &t.b));
	EXPECT_TRUE(two_fails(&t.b, EPROTO));
	EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE));
	two_stop(&t);
}

/* The peer's HELLO crosses ours, and the peer sends it again: twice at most, and before PROOF. */
TEST(hello_again)
{
	struct two t;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, two_start(&t));
		ASSERT_EQ(0, two_attach(&t));
		ASSERT_TRUE(two_hello(&t, &t.b));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		if (i == 1)
			t.b.mine[0].nonce[15] ^= 1;
		ASSERT_TRUE(two_hello(&t, &t.b));
		if (i == 2)
			ASSERT_TRUE(two_hello(&t, &t.b));
		ASSERT_TRUE(two_proof(&t, &t.b));
		if (i) {
			EXPECT_TRUE(two_fails(&t.b, EPROTO)) TH_LOG("case %d", i);
		} else {
			EXPECT_EQ(0, two_works(&t.b, PEER_ALLREDUCE));
		}
		EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		two_stop(&t);
	}
}

/* The rank has left before the handshake: a peer that comes later gets its BYE. */
TEST(gone_before_the_handshake)
{
	struct coll_frame f;
	struct two t;

	ASSERT_EQ(0, two_start(&t));
	ASSERT_EQ(0, two_attach(&t));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	peer_leave(&t.b);
	EXPECT_FALSE(peer_read(&t.a, 0, &f, TWO_QUIET)) TH_LOG("type %u", f.type);
	ASSERT_TRUE(two_hello(&t, &t.b));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	ASSERT_TRUE(peer_is_proved(&t.b, &t.a, 0));
	EXPECT_FALSE(peer_read(&t.a, 0, &f, TWO_QUIET)) TH_LOG("type %u", f.type);
	ASSERT_TRUE(two_proof(&t, &t.b));
	ASSERT_TRUE(peer_read(&t.a, 0, &f, TWO_MS));
	EXPECT_TRUE(two_is(&f, &t.b, COLL_FRAME_BYE));
	EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE));
	peer_stop(&t.a);
}

/* A wrong HELLO or PROOF of @b: @at is an offset in the frame. */
TEST(bad_hello)
{
	static const struct { const char *name; int at; uint8_t value; } bad[] = {
		{ "name", 71, 0 }, { "nonce", 87, 0 }, { "size", 88, 3 }, { "nr_nodes", 92, 1 },
		{ "src", 96, 2 }, { "dst", 100, 1 }, { "stripe", 104, 1 },
		{ "wire_min", 108, COLL_WIRE_VERSION + 1 },
		{ "wire_max", 112, COLL_WIRE_VERSION - 1 }, { "map", 116, 0 },
		{ "proof", PEER_GREET - 1, 0 },
	};
	uint8_t buf[PEER_GREET];
	struct two t;
	size_t i, n;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(0, two_start(&t));
		ASSERT_EQ(0, two_attach(&t));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		n = peer_put_greet(&t.b, 0, buf);
		buf[bad[i].at] = bad[i].value ? bad[i].value : ~buf[bad[i].at];
		ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
		EXPECT_TRUE(two_fails(&t.b, EPROTO)) TH_LOG("%s", bad[i].name);
		/* so that the peer finds the mistake too */
		EXPECT_TRUE(peer_hear(&t.b, &t.a, 0)) TH_LOG("%s", bad[i].name);
		EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE)) TH_LOG("%s", bad[i].name);
		two_stop(&t);
	}
}

/* Before PROOF a control frame is an error, and DATA waits. */
TEST(before_proof)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	static uint8_t buf[PEER_BYTES];
	struct coll_frame f;
	struct peer_op o;
	struct two t;
	size_t n;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, two_start(&t));
		ASSERT_EQ(0, two_attach(&t));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		if (i)
			ASSERT_TRUE(two_hello(&t, &t.b));
		n = i < 2 ? peer_put_bye(&t.b, 1, 0, buf) : peer_put_abort(&t.b, &cause, buf);
		ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
		EXPECT_TRUE(two_fails(&t.b, EPROTO)) TH_LOG("case %d", i);
		EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		two_stop(&t);
	}

	ASSERT_EQ(0, two_start(&t));
	ASSERT_EQ(0, two_attach(&t));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, 1000, 20 * TWO_SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	n = peer_put_op(&t.b, &o.cmd, 1, 999, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	/* nor does the rank send anything */
	EXPECT_FALSE(peer_read(&t.a, 1, &f, TWO_QUIET)) TH_LOG("type %u", f.type);
	/* the waiting DATA does not block the other communicator */
	EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE));
	EXPECT_EQ(0, two_error(&t.b));
	ASSERT_TRUE(two_hello(&t, &t.b));
	while (peer_read(&t.a, 1, &f, TWO_QUIET))
		EXPECT_EQ(coll_wire_comm(t.a.name), f.comm) TH_LOG("type %u", f.type);
	/* nor has the rank written any DATA: its own elements are still there */
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(test_value(0, i), ((int32_t *)o.out.mem)[i]);
	ASSERT_TRUE(two_proof(&t, &t.b));
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_wrong(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	two_stop(&t);
}

TEST_HARNESS_MAIN
