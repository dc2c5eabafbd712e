// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node: right bytes in unusual portions, wrong bytes of
 * every kind, and streams that end in the middle.
 */
#include <sys/socket.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define COUNT	1250

struct wrong {
	const char *name;
	void (*change)(struct coll_frame *f, uint8_t *buf);
	int error;
};

/* The op waits for bytes; the next frame is not what it should be. */
static void wrong_frame(struct __test_metadata *_metadata, enum peer_kind kind,
			const struct wrong *w)
{
	static uint8_t buf[PEER_BYTES];
	struct coll_frame f;
	struct coll_status s;
	struct peer_op first, o, next;
	struct peer p;
	uint64_t when;
	size_t n;

	ASSERT_EQ(0, peer_start(&p, true));
	/* an op that is right, so that there are old numbers */
	ASSERT_TRUE(peer_op_init(&first, &p, PEER_BARRIER, 0, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&first, &p));
	n = peer_put_op(&p, &first.cmd, 1, 4096, buf);
	ASSERT_TRUE(peer_write(&p, 1, buf, n));
	ASSERT_EQ(0, peer_op_wait(&first));

	ASSERT_TRUE(peer_op_init(&o, &p, kind, COUNT, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	n = peer_put_op(&p, &o.cmd, 2, 4096, buf);
	ASSERT_EQ(0, coll_wire_get_header(buf, &f));
	w->change(&f, buf);
	when = test_now_ns();
	peer_write(&p, 1, buf, n);
	EXPECT_EQ(w->error, -peer_op_wait(&o)) TH_LOG("%s, kind %d", w->name, kind);
	EXPECT_FALSE(test_late(when, o.when)) {
		TH_LOG("%s, kind %d", w->name, kind);
	}
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(w->error, s.cause.error) TH_LOG("%s", w->name);
	EXPECT_EQ(w->error == EPROTO ? COLL_CAUSE_PROTO : COLL_CAUSE_MISMATCH,
		  s.cause.kind);
	EXPECT_EQ(1, s.cause.node);
	/* sticky */
	ASSERT_TRUE(peer_op_init(&next, &p, PEER_BARRIER, 0, SECOND));
	ASSERT_TRUE(peer_op_start(&next, &p));
	EXPECT_EQ(w->error, -peer_op_wait(&next));
	EXPECT_EQ(0, peer_op_exit(&o)) TH_LOG("%s: wrote outside", w->name);
	peer_op_exit(&first);
	peer_op_exit(&next);
	peer_stop(&p);
}

#define CHANGE(what, stmt)						\
static void change_##what(struct coll_frame *f, uint8_t *buf)		\
{									\
	stmt;								\
	coll_wire_put_header(buf, f);					\
}

#define BYTES(what, stmt)						\
static void change_##what(struct coll_frame *f, uint8_t *buf)		\
{									\
	stmt;								\
}

BYTES(magic, buf[0] ^= 1)
BYTES(magic_end, buf[3] ^= 0x80)
BYTES(version0, buf[4] = 0)
BYTES(version_last, buf[4] = COLL_WIRE_VERSION - 1)
BYTES(version_next, buf[4] = COLL_WIRE_VERSION + 1)
CHANGE(type0, f->type = 0)
CHANGE(type_big, f->type = 0xff)
CHANGE(flags, f->flags = COLL_FRAME_ACK_NOW << 1)
CHANGE(ack, f->type = COLL_FRAME_ACK)
CHANGE(flags_high, f->flags = 0x8000)
CHANGE(comm, f->comm ^= 1)
CHANGE(epoch, f->epoch = 1)
CHANGE(transfer, f->transfer++)
CHANGE(transfer_big, f->transfer = ~0U)
CHANGE(seq0, f->seq = 0)
CHANGE(seq_old, f->seq--)
CHANGE(seq_future, f->seq++)
CHANGE(seq_huge, f->seq = ~0ULL)
CHANGE(offset, f->offset = 4)
CHANGE(offset_end, f->offset = COUNT * 4)
CHANGE(offset_huge, f->offset = ~0ULL - 4096)
CHANGE(offset_wrap, f->offset = ~0ULL)
CHANGE(length_max, f->length = COLL_WIRE_DATA_MAX)
CHANGE(length_over, f->length = COLL_WIRE_DATA_MAX + 1)
CHANGE(length_huge, f->length = ~0U)
CHANGE(length_one_more, f->length = COUNT * 4 + 1)
CHANGE(token, f->length = 0)
CHANGE(crc, f->crc = 1)
CHANGE(signature, f->signature ^= 1)
CHANGE(signature0, f->signature = 0)
CHANGE(hello, f->type = COLL_FRAME_HELLO)
CHANGE(proof, f->type = COLL_FRAME_PROOF)
CHANGE(abort, f->type = COLL_FRAME_ABORT)
BYTES(text, memcpy(buf, "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n", 49))
BYTES(zeros, memset(buf, 0, COLL_WIRE_HDR))
BYTES(ones, memset(buf, 0xff, COLL_WIRE_HDR))

#define W(what, error) { #what, change_##what, error }

static const struct wrong everywhere[] = {
	W(magic, EPROTO), W(magic_end, EPROTO), W(version0, EPROTO),
	W(version_last, EPROTO), W(version_next, EPROTO), W(type0, EPROTO), W(type_big, EPROTO),
	W(flags, EPROTO), W(ack, EPROTO), W(flags_high, EPROTO), W(comm, EPROTO),
	W(epoch, EPROTO), W(transfer, EPROTO), W(transfer_big, EPROTO),
	W(seq0, EPROTO), W(seq_old, EPROTO), W(seq_future, EBADE),
	W(seq_huge, EBADE), W(offset, EPROTO), W(offset_end, EPROTO),
	W(offset_huge, EPROTO), W(offset_wrap, EPROTO), W(length_max, EPROTO),
	W(length_over, EPROTO), W(length_huge, EPROTO),
	W(length_one_more, EPROTO), W(crc, EPROTO), W(signature, EBADE),
	W(signature0, EBADE), W(hello, EPROTO), W(proof, EPROTO), W(abort, EPROTO),
	W(text, EPROTO), W(zeros, EPROTO), W(ones, EPROTO),
};

static const struct wrong for_data = W(token, EPROTO);

static void wrong_frames(struct __test_metadata *_metadata, enum peer_kind kind)
{
	size_t i;

	for (i = 0; i < sizeof(everywhere) / sizeof(everywhere[0]); i++)
		wrong_frame(_metadata, kind, &everywhere[i]);
}

TEST(wrong_for_barrier)		{ wrong_frames(_metadata, PEER_BARRIER); }
TEST(wrong_for_broadcast)
{
	wrong_frames(_metadata, PEER_BCAST_IN);
	wrong_frame(_metadata, PEER_BCAST_IN, &for_data);
}
TEST(wrong_for_root)		{ wrong_frames(_metadata, PEER_BCAST_OUT); }
TEST(wrong_for_allreduce)
{
	wrong_frames(_metadata, PEER_ALLREDUCE);
	wrong_frame(_metadata, PEER_ALLREDUCE, &for_data);
}

/* Right bytes of @kind, cut in two at @cut, or byte by byte. */
static void portions(struct __test_metadata *_metadata, struct peer *p,
		     enum peer_kind kind, uint64_t count, uint32_t frame, int cut)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op o;
	size_t n, i;

	ASSERT_TRUE(peer_op_init(&o, p, kind, count, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, p));
	n = peer_put_op(p, &o.cmd, p->seq, frame, buf);
	if (cut < 0) {
		for (i = 0; i < n; i++)
			ASSERT_TRUE(peer_write(p, 1, buf + i, 1));
	} else {
		if (cut > n)
			cut = n;
		ASSERT_TRUE(peer_write(p, 1, buf, cut));
		test_sleep_us(1000);
		ASSERT_TRUE(peer_write(p, 1, buf + cut, n - cut));
	}
	EXPECT_EQ(0, peer_op_wait(&o)) {
		TH_LOG("kind %d, count %d, frame %u, cut %d", kind, (int)count, frame, cut);
	}
	EXPECT_EQ(0, peer_op_wrong(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
}

TEST(cut_at_every_byte)
{
	unsigned int step = test_scale(100) >= 100 ? 1 : 7;
	enum peer_kind kind;
	struct peer p;
	int cut;

	ASSERT_EQ(0, peer_start(&p, true));
	for (kind = 0; kind < PEER_NR_KINDS; kind++)
		for (cut = 0; cut < 4 * COLL_WIRE_HDR + 44; cut += step)
			portions(_metadata, &p, kind, 11, 17, cut);
	peer_stop(&p);
}

TEST(byte_by_byte)
{
	enum peer_kind kind;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	for (kind = 0; kind < PEER_NR_KINDS; kind++)
		portions(_metadata, &p, kind, 30, 13, -1);
	peer_stop(&p);
}

/* Frames that end within elements, of all lengths. */
TEST(short_frames)
{
	struct peer p;
	uint32_t frame;

	ASSERT_EQ(0, peer_start(&p, true));
	for (frame = 1; frame < 20; frame++) {
		portions(_metadata, &p, PEER_ALLREDUCE, 100, frame, 0);
		portions(_metadata, &p, PEER_BCAST_IN, 100, frame, 0);
	}
	portions(_metadata, &p, PEER_ALLREDUCE, 3001, 1021, 2000);
	peer_stop(&p);
}

/* The peer greets late, byte by byte. */
TEST(slow_hello)
{
	uint8_t buf[PEER_GREET];
	struct coll_status s;
	struct peer p;
	size_t n, i;
	int st;

	ASSERT_EQ(0, peer_start(&p, false));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(0, s.nr_links);
	for (st = 0; st < 2; st++) {
		n = peer_put_greet(&p, st, buf);
		for (i = 0; i < n; i++)
			ASSERT_TRUE(peer_write(&p, st, buf + i, 1));
	}
	portions(_metadata, &p, PEER_ALLREDUCE, 100, 4096, 0);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(1, s.nr_links);
	EXPECT_EQ(COLL_STATE_READY, s.state);
	peer_stop(&p);
}

/* Bytes that come before their op wait for it; several ops' worth. */
TEST(early_data_waits)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op o[4];
	struct coll_status s;
	struct peer p;
	size_t n = 0;
	int i;

	ASSERT_EQ(0, peer_start(&p, true));
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(peer_op_init(&o[i], &p, i, 200, 10 * SECOND));
		n += peer_put_op(&p, &o[i].cmd, i + 1, 333, buf + n);
	}
	ASSERT_TRUE(peer_write(&p, 1, buf, n));
	test_sleep_us(50000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state);
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(peer_op_start(&o[i], &p));
		EXPECT_EQ(0, peer_op_wait(&o[i])) TH_LOG("kind %d", i);
		EXPECT_EQ(0, peer_op_wrong(&o[i]));
		EXPECT_EQ(0, peer_op_exit(&o[i]));
	}
	peer_stop(&p);
}

/* The same frames twice: the second time they belong nowhere. */
TEST(duplicate_data)
{
	static uint8_t buf[PEER_BYTES];
	struct peer_op o, next;
	struct peer p;
	int kind;
	size_t n;

	for (kind = 0; kind < PEER_NR_KINDS; kind++) {
		ASSERT_EQ(0, peer_start(&p, true));
		ASSERT_TRUE(peer_op_init(&o, &p, kind, 200, 20 * SECOND));
		ASSERT_TRUE(peer_op_start(&o, &p));
		n = peer_put_op(&p, &o.cmd, 1, 4096, buf);
		ASSERT_TRUE(peer_write(&p, 1, buf, n));
		ASSERT_EQ(0, peer_op_wait(&o));
		ASSERT_TRUE(peer_write(&p, 1, buf, n));
		ASSERT_TRUE(peer_op_init(&next, &p, kind, 200, 20 * SECOND));
		ASSERT_TRUE(peer_op_start(&next, &p));
		EXPECT_EQ(-EPROTO, peer_op_wait(&next)) TH_LOG("kind %d", kind);
		EXPECT_EQ(0, peer_op_exit(&o));
		EXPECT_EQ(0, peer_op_exit(&next));
		peer_stop(&p);
	}
}

TEST_HARNESS_MAIN
