// SPDX-License-Identifier: GPL-2.0
/* The test plays the peer node: messages offered, answered and sent, right and wrong. */
#include <poll.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define COUNT	50000
#define TAG	5

static uint8_t frame[COLL_WIRE_HDR + PEER_BYTES];

static void send_rts(struct peer *p, uint64_t id, struct coll_rts r)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_RTS, COLL_WIRE_RTS);
	f.seq = id;
	coll_wire_put_header(frame, &f);
	coll_wire_put_rts(frame + COLL_WIRE_HDR, &r);
	peer_write(p, 0, frame, COLL_WIRE_HDR + COLL_WIRE_RTS);
}

static void send_cts(struct peer *p, uint64_t id, uint32_t error)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_CTS, 0);
	f.seq = id;
	f.transfer = error;
	coll_wire_put_header(frame, &f);
	peer_write(p, 0, frame, COLL_WIRE_HDR);
}

static void send_cancel(struct peer *p, uint64_t id)
{
	struct coll_frame f;

	peer_frame(p, &f, COLL_FRAME_CANCEL, 0);
	f.seq = id;
	coll_wire_put_header(frame, &f);
	peer_write(p, 0, frame, COLL_WIRE_HDR);
}

/* Bytes @off .. @off + @len of a message whose byte i is i * 7. */
static void send_msg(struct peer *p, int stripe, uint64_t id, uint64_t off, uint32_t len)
{
	struct coll_frame f;
	uint32_t i;

	peer_frame(p, &f, COLL_FRAME_MSG, len);
	f.seq = id;
	f.offset = off;
	coll_wire_put_header(frame, &f);
	for (i = 0; i < len; i++)
		frame[COLL_WIRE_HDR + i] = (uint8_t)((off + i) * 7);
	peer_write(p, stripe, frame, COLL_WIRE_HDR + len);
}

static bool read_all(int fd, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&pfd, 1, 5000) != 1)
			return false;
		n = read(fd, p, len);
		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

/* The next frame that is no POST; its payload is in frame[] behind the header. */
static bool get_frame(struct peer *p, int stripe, struct coll_frame *f)
{
	do {
		if (!read_all(p->sock[stripe], frame, COLL_WIRE_HDR) ||
		    coll_wire_get_header(frame, f) || f->length > PEER_BYTES ||
		    !read_all(p->sock[stripe], frame + COLL_WIRE_HDR, f->length))
			return false;
	} while (f->type == COLL_FRAME_POST);
	return true;
}

static const struct coll_rts offer = {
	.source = 1, .dest = 0, .tag = TAG, .dtype = COLL_BYTE, .bytes = COUNT,
};

/* Rank 0 receives up to @bytes, or sends, in a thread. */
static bool start(struct peer *p, struct peer_op *o, bool send, uint64_t bytes,
		  uint32_t tag)
{
	if (!peer_op_init(o, p, PEER_BCAST_IN, COUNT / 4, 0))
		return false;
	if (send)
		raw_send(&o->cmd, o->out.mem, bytes, COLL_BYTE, 1, tag);
	else
		raw_recv(&o->cmd, o->out.mem, bytes, COLL_BYTE, COLL_RANK_ANY, tag, NULL);
	o->cmd.timeout_ns = 10 * SECOND;
	return peer_op_start(o, p);
}

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

/* One message only, each way. */
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

/* An offer that is withdrawn is answered once, whatever comes first. */
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
	/* it has its answer: this one gets none */
	send_cancel(&p, 1);
	/* the receive takes the other one, and to cancel that is too late */
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

/* The rank takes its send back: by the answer it knows whether it could. */
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

#define RTS(...)	send_rts(p, 1, (struct coll_rts){ __VA_ARGS__ })

static void foreign_source(struct peer *p)	{ RTS(0, 0, TAG, COLL_BYTE, 4); }
static void source_beyond(struct peer *p)	{ RTS(2, 0, TAG, COLL_BYTE, 4); }
static void foreign_dest(struct peer *p)	{ RTS(1, 1, TAG, COLL_BYTE, 4); }
static void dest_beyond(struct peer *p)	{ RTS(1, COLL_RANK_NONE, TAG, COLL_BYTE, 4); }
static void odd_tag(struct peer *p)		{ RTS(1, 0, COLL_TAG_ANY, COLL_BYTE, 4); }
static void no_dtype(struct peer *p)		{ RTS(1, 0, TAG, COLL_DTYPE_NONE, 4); }
static void opaque(struct peer *p)		{ RTS(1, 0, TAG, COLL_OPAQUE, 4); }
static void half_element(struct peer *p)	{ RTS(1, 0, TAG, COLL_I32, 6); }
static void too_long(struct peer *p)		{ RTS(1, 0, TAG, COLL_BYTE, 1ULL << 60); }
static void later_id(struct peer *p)		{ send_rts(p, 2, offer); }
static void no_id(struct peer *p)		{ send_rts(p, 0, offer); }

static void same_id(struct peer *p)
{
	send_rts(p, 1, offer);
	send_rts(p, 1, offer);
}

static void after_bye(struct peer *p)
{
	uint8_t buf[256];

	peer_write(p, 0, buf, peer_put_bye(p, 1, 0, buf));
	send_rts(p, 1, offer);
}

static void early_cancel(struct peer *p)	{ send_cancel(p, 1); }
static void no_cancel(struct peer *p)		{ send_cancel(p, 0); }
static void unasked_cts(struct peer *p)	{ send_cts(p, 1, 0); }
static void unasked_msg(struct peer *p)	{ send_msg(p, 1, 1, 0, 10); }
static void msg_on_control(struct peer *p)	{ send_msg(p, 0, 1, 0, 10); }

/* All of these are offered, and the receive with TAG is there. */
static void other_msg(struct peer *p)		{ send_msg(p, 1, 2, 0, 10); }
static void later_part(struct peer *p)		{ send_msg(p, 1, 1, 1, 10); }
static void longer(struct peer *p)		{ send_msg(p, 1, 1, 0, COUNT + 1); }

static void twice(struct peer *p)
{
	send_msg(p, 1, 1, 0, 10);
	send_msg(p, 1, 1, 0, 10);
}

static void beyond_its_end(struct peer *p)
{
	send_msg(p, 1, 1, 0, COUNT - 5);
	send_msg(p, 1, 1, COUNT - 5, 6);
}

/* A send to rank 1 has been offered. */
static void odd_refusal(struct peer *p)	{ send_cts(p, 1, EIO); }
static void other_cts(struct peer *p)		{ send_cts(p, 2, 0); }

static void not_asked_for(struct peer *p)	{ send_cts(p, 1, ECANCELED); }

static void cts_twice(struct peer *p)
{
	send_cts(p, 1, 0);
	send_cts(p, 1, 0);
}

enum scene { WAITS, EXPECTS, SENDS };

static const struct {
	const char *name;
	enum scene scene;
	void (*act)(struct peer *p);
} wrongs[] = {
	{ "source of this node", WAITS, foreign_source },
	{ "no such source", WAITS, source_beyond },
	{ "destination elsewhere", WAITS, foreign_dest },
	{ "no such destination", WAITS, dest_beyond },
	{ "tag out of range", WAITS, odd_tag },
	{ "no type", WAITS, no_dtype },
	{ "type without a size", WAITS, opaque },
	{ "part of an element", WAITS, half_element },
	{ "too long", WAITS, too_long },
	{ "a number left out", WAITS, later_id },
	{ "number 0", WAITS, no_id },
	{ "a number twice", WAITS, same_id },
	{ "CANCEL of what was not offered", WAITS, early_cancel },
	{ "CANCEL of number 0", WAITS, no_cancel },
	{ "CTS that nobody waits for", WAITS, unasked_cts },
	{ "MSG that nobody waits for", WAITS, unasked_msg },
	{ "MSG on the control stream", WAITS, msg_on_control },
	{ "MSG of another message", EXPECTS, other_msg },
	{ "MSG with a gap", EXPECTS, later_part },
	{ "MSG too long", EXPECTS, longer },
	{ "MSG twice", EXPECTS, twice },
	{ "MSG beyond the end", EXPECTS, beyond_its_end },
	{ "an errno that is no refusal", SENDS, odd_refusal },
	{ "withdrawn, but nobody wants it back", SENDS, not_asked_for },
	{ "CTS of another message", SENDS, other_cts },
	{ "CTS twice", SENDS, cts_twice },
};

TEST(wrong_frames)
{
	struct coll_status s;
	struct coll_frame f;
	struct peer_op o;
	struct peer p;
	size_t i;

	for (i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		ASSERT_EQ(0, peer_start(&p, true));
		/* WAITS: a receive with another tag, which the offer does not harm */
		ASSERT_TRUE(start(&p, &o, wrongs[i].scene == SENDS, COUNT,
				  wrongs[i].scene == WAITS ? TAG + 1 : TAG));
		if (wrongs[i].scene == EXPECTS)
			send_rts(&p, 1, offer);
		if (wrongs[i].scene != WAITS)
			ASSERT_TRUE(get_frame(&p, 0, &f));
		wrongs[i].act(&p);
		if (wrongs[i].act == cts_twice)
			peer_op_wait(&o);	/* may be over before the second one */
		else
			EXPECT_EQ(-EPROTO, peer_op_wait(&o)) TH_LOG("%s", wrongs[i].name);
		test_sleep_us(20000);
		ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind) TH_LOG("%s", wrongs[i].name);
		EXPECT_EQ(1, s.cause.node);
		EXPECT_EQ(0, peer_op_exit(&o)) TH_LOG("%s", wrongs[i].name);
		peer_stop(&p);
	}
}

/* A rank that has left has nothing to say any more. */
TEST(offer_after_bye)
{
	struct coll_status s;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	after_bye(&p);
	test_sleep_us(50000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
