// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node of two communicators on the same streams: the windows of both,
 * the backlog, and ACKs.
 */
#include <stdlib.h>

#include "harness.h"
#include "two.h"

/* DATA of @b, @count elements, fills the stream before the DATA of @a that the rank waits for. */
static void stuffed(struct __test_metadata *_metadata, uint64_t count, uint32_t error)
{
	uint8_t *buf = malloc(count * 4 + (count / 65536 + 2) * COLL_WIRE_HDR);
	struct peer_op first, o;
	struct two t;
	size_t n;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, two_establish(&t));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, count, 20 * TWO_SECOND));
	ASSERT_TRUE(peer_op_init(&first, &t.a, PEER_ALLREDUCE, 100, 20 * TWO_SECOND));
	ASSERT_TRUE(peer_op_start(&first, &t.a));
	n = peer_put_op(&t.b, &o.cmd, 1, 262144, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	n = peer_put_op(&t.a, &first.cmd, 1, 4096, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	EXPECT_EQ(0, peer_op_wait(&first));
	EXPECT_EQ(0, peer_op_wrong(&first));
	EXPECT_EQ(error, two_error(&t.b));
	if (!error) {
		ASSERT_TRUE(peer_op_start(&o, &t.b));
		EXPECT_EQ(0, peer_op_wait(&o));
		EXPECT_EQ(0, peer_op_wrong(&o));
		EXPECT_EQ(0, two_works(&t.b, PEER_ALLREDUCE));
	}
	EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE));
	EXPECT_EQ(0, peer_op_exit(&o));
	EXPECT_EQ(0, peer_op_exit(&first));
	two_stop(&t);
	free(buf);
}

TEST(backlog_within_the_window)
{
	stuffed(_metadata, 1000, 0);
	stuffed(_metadata, 300001, 0);
	/* all of the window: 16 frames of 256 KiB, less their headers */
	stuffed(_metadata, (COLL_WIRE_WINDOW - 16 * COLL_WIRE_HDR) / 4, 0);
}

TEST(beyond_the_window)
{
	stuffed(_metadata, (COLL_WIRE_WINDOW - 16 * COLL_WIRE_HDR) / 4 + 1, EPROTO);
	stuffed(_metadata, 3000000, EPROTO);
}

/* Tokens and small frames of later ops go to the backlog, and are taken in order. */
TEST(many_frames_in_the_backlog)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op first, o[8];
	struct two t;
	size_t n;
	int i;

	ASSERT_EQ(0, two_establish(&t));
	ASSERT_TRUE(peer_op_init(&first, &t.a, PEER_ALLREDUCE, 100, 20 * TWO_SECOND));
	ASSERT_TRUE(peer_op_start(&first, &t.a));
	for (i = 0; i < 8; i++) {
		ASSERT_TRUE(peer_op_init(&o[i], &t.b, i % PEER_NR_KINDS, 500, 20 * TWO_SECOND));
		n = peer_put_op(&t.b, &o[i].cmd, i + 1, 77, buf);
		ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	}
	n = peer_put_op(&t.a, &first.cmd, 1, 33, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	EXPECT_EQ(0, peer_op_wait(&first));
	EXPECT_EQ(0, peer_op_wrong(&first));
	for (i = 0; i < 8; i++) {
		ASSERT_TRUE(peer_op_start(&o[i], &t.b));
		EXPECT_EQ(0, peer_op_wait(&o[i])) TH_LOG("op %d", i);
		EXPECT_EQ(0, peer_op_wrong(&o[i])) TH_LOG("op %d", i);
		EXPECT_EQ(0, peer_op_exit(&o[i]));
	}
	EXPECT_EQ(0, peer_op_exit(&first));
	two_stop(&t);
}

static void ack(struct two *t, struct peer *p, uint64_t bytes)
{
	uint8_t buf[COLL_WIRE_HDR];
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_ACK, 0);
	f.offset = bytes;
	coll_wire_put_header(buf, &f);
	peer_write(&t->a, 0, buf, sizeof(buf));
}

/* Read the token of @a. Return: bytes of frames of @b before it, which the machine has delayed. */
static size_t read_token(struct __test_metadata *_metadata, struct two *t)
{
	struct coll_frame f;
	size_t got = 0;

	for (;;) {
		ASSERT_TRUE(peer_read(&t->a, 1, &f, TWO_MS));
		if (!two_is(&f, &t->b, COLL_FRAME_DATA))
			break;
		got += COLL_WIRE_HDR + f.length;
	}
	EXPECT_TRUE(two_is(&f, &t->a, COLL_FRAME_DATA));
	return got;
}

/* The rank sends as much as the window of @b allows; @a goes on meanwhile. */
TEST(window_of_the_sender)
{
	uint64_t count = COLL_WIRE_WINDOW, got = 0, acked = 0;
	static uint8_t buf[PEER_BYTES];
	struct coll_frame f;
	struct peer_op o;
	struct two t;

	ASSERT_EQ(0, two_establish(&t));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_OUT, count / 2, 20 * TWO_SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	ASSERT_TRUE(peer_write(&t.a, 1, buf, peer_put_op(&t.b, &o.cmd, 1, 4096, buf)));
	while (got < count * 2) {
		int ms = TWO_MS;

		for (; peer_read(&t.a, 1, &f, ms); ms = TWO_QUIET) {
			ASSERT_TRUE(two_is(&f, &t.b, COLL_FRAME_DATA));
			got += COLL_WIRE_HDR + f.length;
		}
		ASSERT_GT(got, acked);
		if (got < count * 2) {
			EXPECT_EQ(0, two_works(&t.a, PEER_BARRIER));
			got += read_token(_metadata, &t);
		}
		EXPECT_LE(got - acked, COLL_WIRE_WINDOW);
		acked = got;
		ack(&t, &t.b, acked);
	}
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	two_stop(&t);
}

TEST(wrong_acks)
{
	struct coll_frame f;
	struct two t;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, two_establish(&t));
		EXPECT_EQ(0, two_works(&t.b, PEER_BARRIER));
		ASSERT_TRUE(peer_read(&t.a, 1, &f, TWO_MS));
		/* more than was sent; nothing at all; the same twice */
		if (i != 2)
			ack(&t, &t.b, i ? 0 : COLL_WIRE_HDR + 1);
		for (; i == 2 && !two_error(&t.b); test_sleep_us(10000))
			ack(&t, &t.b, COLL_WIRE_HDR);
		EXPECT_TRUE(two_fails(&t.b, EPROTO)) TH_LOG("case %d", i);
		/* an ACK of nothing is not a valid frame: it ends the stream */
		if (i == 1) {
			EXPECT_TRUE(two_fails(&t.a, EPROTO));
		} else {
			EXPECT_EQ(0, two_works(&t.a, PEER_ALLREDUCE));
		}
		two_stop(&t);
	}
}


/* The rank sends ACK at once if the frame asks for it, and after a quarter of the window. */
TEST(acks_of_the_rank)
{
	uint64_t count = COLL_WIRE_WINDOW / 4;
	uint8_t *buf = malloc(count * 4 + 64 * COLL_WIRE_HDR);
	struct coll_frame f;
	struct peer_op o;
	struct two t;
	size_t n;

	ASSERT_EQ(0, two_establish(&t));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, 100, 20 * TWO_SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	n = peer_put_op(&t.b, &o.cmd, 1, 4096, buf);
	ASSERT_EQ(0, coll_wire_get_header(buf, &f));
	f.flags = COLL_FRAME_ACK_NOW;
	coll_wire_put_header(buf, &f);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	EXPECT_EQ(0, peer_op_wait(&o));
	ASSERT_TRUE(peer_read_ctrl(&t.a, 0, &f, TWO_MS));
	EXPECT_TRUE(two_is(&f, &t.b, COLL_FRAME_ACK));
	EXPECT_EQ(n, f.offset);
	peer_op_exit(&o);

	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, count, 20 * TWO_SECOND));
	t.b.seq = 1;
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	n += peer_put_op(&t.b, &o.cmd, 2, 262144, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n - f.offset));
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_wrong(&o));
	while (n - f.offset >= COLL_WIRE_WINDOW / 4) {
		uint64_t before = f.offset;

		ASSERT_TRUE(peer_read_ctrl(&t.a, 0, &f, TWO_MS));
		EXPECT_TRUE(two_is(&f, &t.b, COLL_FRAME_ACK));
		EXPECT_GE(f.offset - before, COLL_WIRE_WINDOW / 4);
		EXPECT_LE(f.offset, n);
	}
	EXPECT_FALSE(peer_read_ctrl(&t.a, 0, &f, TWO_QUIET));
	peer_op_exit(&o);
	two_stop(&t);
	free(buf);
}

TEST_HARNESS_MAIN
