// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, which is right: it offers messages and answers offers. Messages are
 * received, sent, refused and cancelled.
 */
#include <string.h>

#include "wire_msg.h"

TEST(received)
{
	static const uint32_t cuts[] = { 1, 4097, 7, 30000, 15895 };
	struct coll_frame f;
	struct peer_op o;
	struct peer p;
	uint64_t off, i;
	unsigned int c, first;

	for (first = 0; first < 2; first++) {
		ASSERT_EQ(0, peer_start(&p, true));
		if (first)
			send_rts(&p, 1, offer);
		ASSERT_TRUE(start(&p, &o, false, COUNT, TAG));
		if (!first)
			send_rts(&p, 1, offer);
		ASSERT_TRUE(get_frame(&p, 0, &f));
		EXPECT_EQ(COLL_FRAME_CTS, f.type);
		EXPECT_EQ(1, f.seq);
		EXPECT_EQ(0, f.transfer);
		for (c = 0, off = 0; c < 5; off += cuts[c++])
			send_msg(&p, 1, 1, off, cuts[c]);
		ASSERT_EQ(COUNT, off);
		EXPECT_EQ(0, peer_op_wait(&o));
		for (i = 0; i < COUNT && o.out.mem[i] == (uint8_t)(i * 7); i++)
			;
		EXPECT_EQ(COUNT, i);
		EXPECT_EQ(0, peer_op_exit(&o));
		peer_stop(&p);
	}
}

TEST(sent)
{
	struct coll_frame f;
	struct coll_rts r;
	struct peer_op o;
	struct peer p;
	uint64_t off;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(start(&p, &o, true, COUNT, TAG));
	ASSERT_TRUE(get_frame(&p, 0, &f));
	ASSERT_EQ(COLL_FRAME_RTS, f.type);
	EXPECT_EQ(1, f.seq);
	ASSERT_EQ(0, coll_wire_get_rts(frame + COLL_WIRE_HDR, &r));
	EXPECT_EQ(0, r.source);
	EXPECT_EQ(1, r.dest);
	EXPECT_EQ(TAG, r.tag);
	EXPECT_EQ(COLL_BYTE, r.dtype);
	EXPECT_EQ(COUNT, r.bytes);
	send_cts(&p, 1, 0);
	for (off = 0; off < COUNT; off += f.length) {
		ASSERT_TRUE(get_frame(&p, 1, &f));
		ASSERT_EQ(COLL_FRAME_MSG, f.type);
		EXPECT_EQ(1, f.seq);
		ASSERT_EQ(off, f.offset);
		EXPECT_EQ(0, memcmp(o.out.mem + off, frame + COLL_WIRE_HDR, f.length));
	}
	EXPECT_EQ(COUNT, off);
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_stop(&p);
}

/* A message that does not fit its receive, and a send that the peer refuses, end alone. */
TEST(refused)
{
	struct coll_status s;
	struct coll_frame f;
	struct peer_op o;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(start(&p, &o, false, COUNT - 1, TAG));
	send_rts(&p, 1, offer);
	ASSERT_TRUE(get_frame(&p, 0, &f));
	EXPECT_EQ(COLL_FRAME_CTS, f.type);
	EXPECT_EQ(EMSGSIZE, f.transfer);
	EXPECT_EQ(-EMSGSIZE, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	ASSERT_TRUE(start(&p, &o, true, 100, TAG));
	ASSERT_TRUE(get_frame(&p, 0, &f));
	send_cts(&p, 1, EBADE);
	EXPECT_EQ(-EBADE, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state);
	peer_stop(&p);
}

/* The peer cancels its offers, one before a receive and one after. Each offer gets one answer. */
TEST(withdrawn)
{
	struct coll_status s;
	struct coll_frame f;
	struct peer_op o;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	send_rts(&p, 1, offer);
	send_rts(&p, 2, offer);
	send_cancel(&p, 1);
	ASSERT_TRUE(get_frame(&p, 0, &f));
	EXPECT_EQ(COLL_FRAME_CTS, f.type);
	EXPECT_EQ(1, f.seq);
	EXPECT_EQ(ECANCELED, f.transfer);
	/* The offer has had its answer: a second CANCEL gets none. */
	send_cancel(&p, 1);
	/* The receive takes the other offer. CANCEL comes too late for it. */
	ASSERT_TRUE(start(&p, &o, false, COUNT, TAG));
	ASSERT_TRUE(get_frame(&p, 0, &f));
	EXPECT_EQ(COLL_FRAME_CTS, f.type);
	EXPECT_EQ(2, f.seq);
	EXPECT_EQ(0, f.transfer);
	send_cancel(&p, 2);
	send_msg(&p, 1, 2, 0, COUNT);
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state);
	peer_stop(&p);
}

/* The rank cancels its send. The answer of the peer tells whether that came in time. */
TEST(withdrawing)
{
	struct coll_status s;
	struct coll_frame f;
	struct peer_op o;
	struct peer p;
	int late;

	for (late = 0; late < 2; late++) {
		ASSERT_EQ(0, peer_start(&p, true));
		ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, COUNT / 4, 0));
		raw_send(&o.cmd, o.out.mem, 0, COLL_BYTE, 1, TAG);
		o.cmd.handle = 99;
		ASSERT_TRUE(peer_op_start(&o, &p));
		ASSERT_TRUE(get_frame(&p, 0, &f));
		ASSERT_EQ(COLL_FRAME_RTS, f.type);
		EXPECT_EQ(0, raw_cancel(p.c.fd[0], 99));
		EXPECT_EQ(0, raw_cancel(p.c.fd[0], 99));
		ASSERT_TRUE(get_frame(&p, 0, &f));
		EXPECT_EQ(COLL_FRAME_CANCEL, f.type);
		EXPECT_EQ(1, f.seq);
		send_cts(&p, 1, late ? 0 : ECANCELED);
		EXPECT_EQ(late ? 0 : -ECANCELED, peer_op_wait(&o));
		EXPECT_EQ(-ENOENT, raw_cancel(p.c.fd[0], 99));
		EXPECT_EQ(0, peer_op_exit(&o));
		ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
		EXPECT_EQ(COLL_STATE_READY, s.state);
		peer_stop(&p);
	}
}

TEST_HARNESS_MAIN
