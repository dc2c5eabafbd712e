// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node of two communicators on the same streams: greetings
 * in every order, windows, frames of one that must not harm the other.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define MS	2000		/* patience with frames that come */
#define QUIET	100		/* and with those that do not */

/**
 * struct two - a real rank in two communicators
 * @a: made the streams
 * @b: came later
 */
struct two {
	struct peer a, b;
};

static bool is(const struct coll_frame *f, const struct peer *p, uint8_t type)
{
	return f->type == type && f->comm == coll_wire_comm(p->name);
}

/* The greetings of @a are out of the way. */
static int start(struct two *t)
{
	int ret = peer_start(&t->a, true);

	if (!ret)
		ret = peer_guest(&t->b, &t->a);
	return ret;
}

static int attach(struct two *t)
{
	return raw_share(t->b.c.fd[0], 1, t->a.c.fd[0], 1);
}

static bool hello(struct two *t, struct peer *p)
{
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	return peer_write(&t->a, 0, buf, peer_put_hello(p, 0, buf));
}

static bool proof(struct two *t, struct peer *p)
{
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	return peer_write(&t->a, 0, buf, peer_put_proof(p, 0, buf));
}

/* @b is attached and greeted on both sides; nothing is left to read. */
static int start_greeted(struct two *t)
{
	int ret = start(t);

	if (!ret)
		ret = attach(t);
	if (!ret && !peer_guest_greet(&t->b, &t->a))
		ret = -EPROTO;
	return ret;
}

static void stop(struct two *t)
{
	peer_leave(&t->b);
	peer_stop(&t->a);
}

static uint32_t error_of(const struct peer *p)
{
	struct coll_status s;

	return raw_status(p->c.fd[0], &s) ? ~0U : s.cause.error;
}

/* An op of @p from beginning to end. Return: 0, -errno, 1: wrong. */
static int works(struct peer *p, enum peer_kind kind)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op o;
	int ret;

	if (!peer_op_init(&o, p, kind, 1250, 5 * SECOND) || !peer_op_start(&o, p))
		return -ENOMEM;
	peer_write(p, 1, buf, peer_put_op(p, &o.cmd, p->seq, 1000, buf));
	ret = peer_op_wait(&o);
	if (!ret)
		ret = peer_op_wrong(&o) != 0;
	return peer_op_exit(&o) ? 1 : ret;
}

/* Does the error come to be there? */
static bool becomes(const struct peer *p, uint32_t error)
{
	uint64_t until = test_now_ns() + 10 * SECOND;

	while (error_of(p) != error && test_now_ns() < until)
		test_sleep_us(1000);
	return error_of(p) == error;
}

/* The peer is there first: nobody has heard its HELLO, so it has to say it again. */
TEST(peer_first)
{
	struct coll_frame f;
	struct two t;

	ASSERT_EQ(0, start(&t));
	ASSERT_TRUE(hello(&t, &t.b));
	EXPECT_FALSE(peer_read(&t.a, 0, &f, QUIET)) TH_LOG("type %u", f.type);
	ASSERT_EQ(0, attach(&t));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	EXPECT_EQ(0, works(&t.a, PEER_BARRIER));
	ASSERT_TRUE(hello(&t, &t.b));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	ASSERT_TRUE(peer_is_proved(&t.b, &t.a, 0));
	EXPECT_EQ(0, error_of(&t.b));
	ASSERT_TRUE(proof(&t, &t.b));
	EXPECT_EQ(0, works(&t.b, PEER_ALLREDUCE));
	EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE));
	stop(&t);
}

/* We are there first: the answer to the peer's HELLO is another one. */
TEST(rank_first)
{
	struct coll_frame f;
	struct two t;

	ASSERT_EQ(0, start_greeted(&t));
	EXPECT_FALSE(peer_read(&t.a, 0, &f, QUIET)) TH_LOG("type %u", f.type);
	EXPECT_EQ(0, works(&t.b, PEER_BCAST_IN));
	/* the handshake is over */
	ASSERT_TRUE(hello(&t, &t.b));
	EXPECT_TRUE(becomes(&t.b, EPROTO));
	EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE));
	stop(&t);
}

/* HELLO crosses ours and is said again, the same: twice at most, and before PROOF. */
TEST(hello_again)
{
	struct two t;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, start(&t));
		ASSERT_EQ(0, attach(&t));
		ASSERT_TRUE(hello(&t, &t.b));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		if (i == 1)
			t.b.mine[0].nonce[15] ^= 1;
		ASSERT_TRUE(hello(&t, &t.b));
		if (i == 2)
			ASSERT_TRUE(hello(&t, &t.b));
		ASSERT_TRUE(proof(&t, &t.b));
		if (i) {
			EXPECT_TRUE(becomes(&t.b, EPROTO)) TH_LOG("case %d", i);
		} else {
			EXPECT_EQ(0, works(&t.b, PEER_ALLREDUCE));
		}
		EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		stop(&t);
	}
}

/* The rank has gone before it was greeted: whoever comes then hears of it. */
TEST(gone_before_it_was_greeted)
{
	struct coll_frame f;
	struct two t;

	ASSERT_EQ(0, start(&t));
	ASSERT_EQ(0, attach(&t));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	peer_leave(&t.b);
	EXPECT_FALSE(peer_read(&t.a, 0, &f, QUIET)) TH_LOG("type %u", f.type);
	ASSERT_TRUE(hello(&t, &t.b));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	ASSERT_TRUE(peer_is_proved(&t.b, &t.a, 0));
	EXPECT_FALSE(peer_read(&t.a, 0, &f, QUIET)) TH_LOG("type %u", f.type);
	ASSERT_TRUE(proof(&t, &t.b));
	ASSERT_TRUE(peer_read(&t.a, 0, &f, MS));
	EXPECT_TRUE(is(&f, &t.b, COLL_FRAME_BYE));
	EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE));
	peer_stop(&t.a);
}

/* Wrong greetings of @b: @at is an offset in the frame. */
TEST(bad_hello)
{
	static const struct { const char *name; int at; uint8_t value; } bad[] = {
		{ "name", 71, 0 }, { "nonce", 87, 0 }, { "size", 88, 3 }, { "nr_nodes", 92, 1 },
		{ "src", 96, 2 }, { "dst", 100, 1 }, { "stripe", 104, 1 },
		{ "wire_min", 108, 3 }, { "wire_max", 112, 1 }, { "reserved", 116, 1 },
		{ "proof", PEER_GREET - 1, 0 },
	};
	uint8_t buf[PEER_GREET];
	struct two t;
	size_t i, n;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(0, start(&t));
		ASSERT_EQ(0, attach(&t));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		n = peer_put_greet(&t.b, 0, buf);
		buf[bad[i].at] = bad[i].value ? bad[i].value : ~buf[bad[i].at];
		ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
		EXPECT_TRUE(becomes(&t.b, EPROTO)) TH_LOG("%s", bad[i].name);
		/* so that the peer finds the mistake too */
		EXPECT_TRUE(peer_hear(&t.b, &t.a, 0)) TH_LOG("%s", bad[i].name);
		EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE)) TH_LOG("%s", bad[i].name);
		stop(&t);
	}
}

/* Before PROOF: control is a breach, DATA waits. */
TEST(not_greeted)
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
		ASSERT_EQ(0, start(&t));
		ASSERT_EQ(0, attach(&t));
		ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
		if (i)
			ASSERT_TRUE(hello(&t, &t.b));
		n = i < 2 ? peer_put_bye(&t.b, 1, 0, buf) : peer_put_abort(&t.b, &cause, buf);
		ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
		EXPECT_TRUE(becomes(&t.b, EPROTO)) TH_LOG("case %d", i);
		EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		stop(&t);
	}

	ASSERT_EQ(0, start(&t));
	ASSERT_EQ(0, attach(&t));
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, 1000, 5 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	n = peer_put_op(&t.b, &o.cmd, 1, 999, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	/* nor does the rank send anything */
	EXPECT_FALSE(peer_read(&t.a, 1, &f, QUIET)) TH_LOG("type %u", f.type);
	/* it does not stand in the way of the others */
	EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE));
	EXPECT_EQ(0, error_of(&t.b));
	ASSERT_TRUE(hello(&t, &t.b));
	while (peer_read(&t.a, 1, &f, QUIET))
		EXPECT_EQ(coll_wire_comm(t.a.name), f.comm) TH_LOG("type %u", f.type);
	/* nor has it written any of it: rank 0 has put its own elements there */
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(test_value(0, i), ((int32_t *)o.out.mem)[i]);
	ASSERT_TRUE(proof(&t, &t.b));
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_wrong(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	stop(&t);
}

/* DATA of @b fills the stream with @bytes before that of @a, which is wanted. */
static void stuffed(struct __test_metadata *_metadata, uint64_t count, uint32_t error)
{
	uint8_t *buf = malloc(count * 4 + (count / 65536 + 2) * COLL_WIRE_HDR);
	struct peer_op first, o;
	struct two t;
	size_t n;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, start_greeted(&t));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, count, 20 * SECOND));
	ASSERT_TRUE(peer_op_init(&first, &t.a, PEER_ALLREDUCE, 100, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&first, &t.a));
	n = peer_put_op(&t.b, &o.cmd, 1, 262144, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	n = peer_put_op(&t.a, &first.cmd, 1, 4096, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	EXPECT_EQ(0, peer_op_wait(&first));
	EXPECT_EQ(0, peer_op_wrong(&first));
	EXPECT_EQ(error, error_of(&t.b));
	if (!error) {
		ASSERT_TRUE(peer_op_start(&o, &t.b));
		EXPECT_EQ(0, peer_op_wait(&o));
		EXPECT_EQ(0, peer_op_wrong(&o));
		EXPECT_EQ(0, works(&t.b, PEER_ALLREDUCE));
	}
	EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE));
	EXPECT_EQ(0, peer_op_exit(&o));
	EXPECT_EQ(0, peer_op_exit(&first));
	stop(&t);
	free(buf);
}

TEST(put_aside_within_the_window)
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

/* Tokens and small frames of several ops to come, put aside, are taken in order. */
TEST(many_frames_aside)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op first, o[8];
	struct two t;
	size_t n;
	int i;

	ASSERT_EQ(0, start_greeted(&t));
	ASSERT_TRUE(peer_op_init(&first, &t.a, PEER_ALLREDUCE, 100, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&first, &t.a));
	for (i = 0; i < 8; i++) {
		ASSERT_TRUE(peer_op_init(&o[i], &t.b, i % PEER_NR_KINDS, 500, 20 * SECOND));
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
	stop(&t);
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

/* The rank sends as far as the window of @b goes, and then @a's as before. */
TEST(window_of_the_sender)
{
	uint64_t count = COLL_WIRE_WINDOW, got = 0, acked = 0;
	static uint8_t buf[PEER_BYTES];
	struct coll_frame f;
	struct peer_op o;
	struct two t;

	ASSERT_EQ(0, start_greeted(&t));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_OUT, count / 2, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	ASSERT_TRUE(peer_write(&t.a, 1, buf, peer_put_op(&t.b, &o.cmd, 1, 4096, buf)));
	while (got < count * 2) {
		while (peer_read(&t.a, 1, &f, QUIET)) {
			ASSERT_TRUE(is(&f, &t.b, COLL_FRAME_DATA));
			got += COLL_WIRE_HDR + f.length;
		}
		ASSERT_GT(got, acked);
		EXPECT_LE(got - acked, COLL_WIRE_WINDOW);
		if (got < count * 2) {
			EXPECT_EQ(0, works(&t.a, PEER_BARRIER));
			/* and its token */
			EXPECT_TRUE(peer_read(&t.a, 1, &f, MS));
			EXPECT_TRUE(is(&f, &t.a, COLL_FRAME_DATA));
		}
		acked = got;
		ack(&t, &t.b, acked);
	}
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	stop(&t);
}

TEST(wrong_acks)
{
	struct coll_frame f;
	struct two t;
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, start_greeted(&t));
		EXPECT_EQ(0, works(&t.b, PEER_BARRIER));
		ASSERT_TRUE(peer_read(&t.a, 1, &f, MS));
		/* more than was sent; none at all; and twice the same */
		if (i != 2)
			ack(&t, &t.b, i ? 0 : COLL_WIRE_HDR + 1);
		for (; i == 2 && !error_of(&t.b); test_sleep_us(10000))
			ack(&t, &t.b, COLL_WIRE_HDR);
		EXPECT_TRUE(becomes(&t.b, EPROTO)) TH_LOG("case %d", i);
		/* an ACK of nothing is no frame at all: that is the end of the stream */
		if (i == 1) {
			EXPECT_TRUE(becomes(&t.a, EPROTO));
		} else {
			EXPECT_EQ(0, works(&t.a, PEER_ALLREDUCE));
		}
		stop(&t);
	}
}

/* The next frame of the control stream but POST, which slow machines send. */
static bool read_ctrl(struct two *t, struct coll_frame *f, int ms)
{
	bool got;

	do {
		got = peer_read(&t->a, 0, f, ms);
	} while (got && f->type == COLL_FRAME_POST);
	return got;
}

/* Acknowledged at once where the frame says so, and where a quarter has come. */
TEST(acks_of_the_rank)
{
	uint64_t count = COLL_WIRE_WINDOW / 4;
	uint8_t *buf = malloc(count * 4 + 64 * COLL_WIRE_HDR);
	struct coll_frame f;
	struct peer_op o;
	struct two t;
	size_t n;

	ASSERT_EQ(0, start_greeted(&t));
	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, 100, 5 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	n = peer_put_op(&t.b, &o.cmd, 1, 4096, buf);
	ASSERT_EQ(0, coll_wire_get_header(buf, &f));
	f.flags = COLL_FRAME_ACK_NOW;
	coll_wire_put_header(buf, &f);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
	EXPECT_EQ(0, peer_op_wait(&o));
	ASSERT_TRUE(read_ctrl(&t, &f, MS));
	EXPECT_TRUE(is(&f, &t.b, COLL_FRAME_ACK));
	EXPECT_EQ(n, f.offset);
	peer_op_exit(&o);

	ASSERT_TRUE(peer_op_init(&o, &t.b, PEER_BCAST_IN, count, 20 * SECOND));
	t.b.seq = 1;
	ASSERT_TRUE(peer_op_start(&o, &t.b));
	n += peer_put_op(&t.b, &o.cmd, 2, 262144, buf);
	ASSERT_TRUE(peer_write(&t.a, 1, buf, n - f.offset));
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_wrong(&o));
	while (n - f.offset >= COLL_WIRE_WINDOW / 4) {
		uint64_t before = f.offset;

		ASSERT_TRUE(read_ctrl(&t, &f, MS));
		EXPECT_TRUE(is(&f, &t.b, COLL_FRAME_ACK));
		EXPECT_GE(f.offset - before, COLL_WIRE_WINDOW / 4);
		EXPECT_LE(f.offset, n);
	}
	EXPECT_FALSE(read_ctrl(&t, &f, QUIET));
	peer_op_exit(&o);
	stop(&t);
	free(buf);
}

/* What ends one communicator does not end the other, nor what comes for it then. */
TEST(one_fails)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	static uint8_t buf[PEER_BYTES];
	struct peer *bad, *good;
	struct coll_cmd cmd;
	struct two t;
	size_t n;
	int i;

	raw_barrier(&cmd);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, start_greeted(&t));
		bad = i & 1 ? &t.a : &t.b;
		good = i & 1 ? &t.b : &t.a;
		switch (i / 2) {
		case 0:
			n = peer_put_abort(bad, &cause, buf);
			ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
			EXPECT_TRUE(becomes(bad, ESHUTDOWN));
			break;
		case 1:	/* of a rank that is here */
			n = peer_put_bye(bad, 0, 0, buf);
			ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
			EXPECT_TRUE(becomes(bad, EPROTO));
			break;
		case 2:	/* in the middle of a frame */
			EXPECT_EQ(0, works(bad, PEER_ALLREDUCE));
			raw_broadcast(&cmd, NULL, 500, COLL_I32, 1);
			n = peer_put_op(bad, &cmd, 2, 4096, buf);
			ASSERT_TRUE(peer_write(&t.a, 1, buf, n - 700));
			EXPECT_EQ(0, raw_abort(bad->c.fd[0], 1));
			ASSERT_TRUE(peer_write(&t.a, 1, buf + n - 700, 700));
			break;
		default:
			EXPECT_EQ(0, raw_abort(bad->c.fd[0], 1));
		}
		EXPECT_EQ(0, error_of(good)) TH_LOG("case %d", i);
		EXPECT_EQ(0, works(good, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		n = peer_put_op(bad, &cmd, 3, 4096, buf);
		ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
		EXPECT_EQ(0, works(good, PEER_BCAST_IN)) TH_LOG("case %d", i);
		/* and when nobody of it is left */
		peer_leave(bad);
		ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
		EXPECT_EQ(0, works(good, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		peer_leave(good);
		peer_close(&t.a, 0, false);
		peer_close(&t.a, 1, false);
	}
}

/* The rank of @b is in the middle of sending when its communicator fails. */
static bool fail_while_sending(struct two *t, struct peer_op *o)
{
	static uint8_t buf[PEER_BYTES];

	if (!peer_op_init(o, &t->b, PEER_BCAST_OUT, 1000000, 20 * SECOND) ||
	    !peer_op_start(o, &t->b) ||
	    !peer_write(&t->a, 1, buf, peer_put_op(&t->b, &o->cmd, 1, 4096, buf)))
		return false;
	/* the socket is full, or all of the window is in it */
	test_sleep_us(50000);
	return !raw_abort(t->b.c.fd[0], 1);
}

/* A frame of an op that fails is made whole: what follows is in step. */
TEST(half_a_frame_sent)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	static uint8_t buf[PEER_BYTES];
	struct coll_frame f;
	struct peer_op o;
	struct two t;

	ASSERT_EQ(0, start_greeted(&t));
	ASSERT_TRUE(fail_while_sending(&t, &o));
	/* that nobody reads its bytes any more is for the peer to say */
	ASSERT_TRUE(peer_write(&t.a, 0, buf, peer_put_abort(&t.b, &cause, buf)));
	EXPECT_EQ(-ESHUTDOWN, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	while (peer_read(&t.a, 1, &f, QUIET))
		EXPECT_TRUE(is(&f, &t.b, COLL_FRAME_DATA));
	EXPECT_EQ(0, works(&t.a, PEER_BARRIER));
	ASSERT_TRUE(peer_read(&t.a, 1, &f, MS));
	EXPECT_TRUE(is(&f, &t.a, COLL_FRAME_DATA));
	stop(&t);
}

/* What there is to read of data until nothing more comes. Return: bytes. */
static size_t drain(const struct two *t)
{
	struct pollfd pfd = { .fd = t->a.sock[1], .events = POLLIN };
	uint8_t junk[4096];
	size_t got = 0;
	ssize_t n;

	while (poll(&pfd, 1, QUIET) == 1) {
		n = recv(pfd.fd, junk, sizeof(junk), MSG_DONTWAIT);
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

static bool set_send_mode(const char *mode)
{
	FILE *f = fopen("/sys/module/coll/parameters/send_mode", "w");

	return f && fprintf(f, "%s\n", mode) > 0 && !fclose(f);
}

/*
 * The peer would take the zeroes for data, if they came before the ABORT that tells it not
 * to: another stream, so they may. They wait for its own.
 */
TEST(zeroes_wait)
{
	static const char *const modes[] = { "copy", "splice", "ubuf" };
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	static uint8_t buf[PEER_BYTES];
	int little = 65536, i;
	struct coll_frame f;
	struct peer_op o;
	struct two t;

	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(set_send_mode(modes[i]));
		ASSERT_EQ(0, start_greeted(&t));
		ASSERT_EQ(0, setsockopt(t.a.sock[1], SOL_SOCKET, SO_RCVBUF, &little,
					sizeof(little)));
		ASSERT_TRUE(fail_while_sending(&t, &o));
		drain(&t);
		ASSERT_TRUE(peer_write(&t.a, 0, buf, peer_put_abort(&t.b, &cause, buf)));
		EXPECT_LT(0, drain(&t)) TH_LOG("%s", modes[i]);
		EXPECT_EQ(-ESHUTDOWN, peer_op_wait(&o));
		EXPECT_EQ(0, peer_op_exit(&o));
		/* in step */
		EXPECT_EQ(0, works(&t.a, PEER_BARRIER)) TH_LOG("%s", modes[i]);
		ASSERT_TRUE(peer_read(&t.a, 1, &f, MS));
		EXPECT_TRUE(is(&f, &t.a, COLL_FRAME_DATA));
		stop(&t);
	}
	EXPECT_TRUE(set_send_mode("auto"));
}

/* Nor does an op wait for a peer that does not say it: the stream is broken off. */
TEST(pages_called_back)
{
	static const char *const modes[] = { "splice", "ubuf" };
	struct peer_op o;
	struct two t;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(set_send_mode(modes[i]));
		ASSERT_EQ(0, start_greeted(&t));
		ASSERT_TRUE(fail_while_sending(&t, &o));
		EXPECT_EQ(-ESHUTDOWN, peer_op_wait(&o)) TH_LOG("%s", modes[i]);
		EXPECT_EQ(0, peer_op_exit(&o));
		EXPECT_TRUE(becomes(&t.a, EHOSTDOWN)) TH_LOG("%s", modes[i]);
		stop(&t);
	}
	EXPECT_TRUE(set_send_mode("auto"));
}

/* Bytes that are no frame: nobody knows where the next one begins. */
TEST(garbage_fails_all)
{
	static const char junk[] = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n12345678";
	struct two t;
	int st;

	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, start_greeted(&t));
		ASSERT_TRUE(peer_write(&t.a, st, junk, sizeof(junk)));
		EXPECT_TRUE(becomes(&t.a, EPROTO));
		EXPECT_TRUE(becomes(&t.b, EPROTO));
		stop(&t);
	}
}

/* The streams end: with the one that has said BYE all is well, not with the other. */
TEST(streams_end)
{
	uint8_t buf[256];
	struct two t;
	int st;

	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, start_greeted(&t));
		ASSERT_TRUE(peer_write(&t.a, 0, buf, peer_put_bye(&t.a, 1, 0, buf)));
		peer_close(&t.a, st, false);
		EXPECT_TRUE(becomes(&t.b, EHOSTDOWN));
		EXPECT_EQ(0, error_of(&t.a));
		stop(&t);
	}
}

TEST_HARNESS_MAIN
