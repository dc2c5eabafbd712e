// SPDX-License-Identifier: GPL-2.0
/*
 * Ops of one communicator side by side: what a peer, which the test plays, gets to see
 * before it has answered anything, and what becomes of the others when one goes wrong.
 */
#include <stdio.h>
#include <sys/socket.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define COUNT	2500
#define MOST	24
/* As Documentation/design.rst says: so many run, of so many bytes together. */
#define RUN	16
#define BYTES	(4U << 20)

/* A real rank with several ops in flight, each in a thread of its own. */
struct burst {
	struct peer p;
	struct peer_op op[MOST];
	unsigned int nr;
	uint8_t *buf;
};

static bool burst_start(struct burst *b)
{
	memset(b, 0, sizeof(*b));
	b->buf = malloc(2 * BYTES);
	return b->buf && !peer_start(&b->p, true);
}

/* Post one more, behind those there are. */
static bool burst_post(struct burst *b, enum peer_kind kind, uint64_t count)
{
	struct peer_op *o = &b->op[b->nr];
	uint64_t end = test_now_ns() + 10 * SECOND;
	struct coll_status s;

	if (!peer_op_init(o, &b->p, kind, count, 20 * SECOND) || !peer_op_start(o, &b->p))
		return false;
	b->nr++;
	do {
		if (raw_status(b->p.c.fd[0], &s) || test_now_ns() > end)
			return false;
	} while (s.posted < b->nr);
	return true;
}

/* The frames that rank 1 sends for the op of number @seq. */
static bool burst_answer(struct burst *b, uint64_t seq)
{
	size_t n = peer_put_op(&b->p, &b->op[seq - 1].cmd, seq, 65536, b->buf);

	return peer_write(&b->p, 1, b->buf, n);
}

/* The number of the op that the next frame of DATA is of; 0: none comes in @ms. */
static uint64_t burst_read(struct burst *b, int ms)
{
	struct coll_frame f;

	do {
		if (!peer_read(&b->p, 1, &f, ms))
			return 0;
	} while (f.type != COLL_FRAME_DATA);
	return f.seq;
}

/* Ends everything: all have to have results. Return: bytes outside of buffers changed. */
static size_t burst_stop(struct burst *b)
{
	size_t hurt = 0;
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		hurt += peer_op_exit(&b->op[i]);
	peer_stop(&b->p);
	free(b->buf);
	return hurt;
}

/* Each op begins before the ones before it have been answered; and all end well. */
TEST(all_begin)
{
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 6; i++)
		ASSERT_TRUE(burst_post(&b, i % 2 ? PEER_BARRIER : PEER_BCAST_IN, COUNT));
	for (i = 1; i <= 6; i++)
		ASSERT_EQ(i, burst_read(&b, 10000));
	for (i = 1; i <= 6; i++)
		ASSERT_TRUE(burst_answer(&b, i));
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(0, peer_op_wait(&b.op[i]));
		EXPECT_EQ(0, peer_op_wrong(&b.op[i]));
	}
	EXPECT_EQ(0, burst_stop(&b));
}

/* A transfer that waits for the peer holds up those behind it on its stream. */
TEST(in_order_on_a_stream)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_ALLREDUCE, COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	/* its own half; the sum of the other one needs what the peer has */
	ASSERT_EQ(1, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 1));
	EXPECT_EQ(1, burst_read(&b, 10000));
	EXPECT_EQ(2, burst_read(&b, 10000));
	ASSERT_TRUE(burst_answer(&b, 2));
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	EXPECT_EQ(0, peer_op_wait(&b.op[1]));
	EXPECT_EQ(0, peer_op_wrong(&b.op[0]));
	EXPECT_EQ(0, burst_stop(&b));
}

/* As many as may, and one more for each that has ended. */
TEST(so_many)
{
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < RUN + 3; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	for (i = 1; i <= RUN; i++)
		ASSERT_EQ(i, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	for (i = 1; i <= RUN + 3; i++) {
		ASSERT_TRUE(burst_answer(&b, i));
		EXPECT_EQ(0, peer_op_wait(&b.op[i - 1]));
		if (i <= 3)
			EXPECT_EQ(RUN + i, burst_read(&b, 10000));
	}
	EXPECT_EQ(0, burst_stop(&b));
}

/* A large one beside another one; alone it may be as large as it likes. */
TEST(so_much)
{
	static const uint32_t bytes[] = { BYTES + 4, BYTES / 4 * 3, BYTES / 4, 4096, BYTES };
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, bytes[i] / 4));
	ASSERT_EQ(1, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 1));
	/* exactly what fits, and what there is no room for then, and alone */
	EXPECT_EQ(2, burst_read(&b, 10000));
	EXPECT_EQ(3, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 2));
	EXPECT_EQ(4, burst_read(&b, 10000));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_TRUE(burst_answer(&b, 3));
	ASSERT_TRUE(burst_answer(&b, 4));
	EXPECT_EQ(5, burst_read(&b, 10000));
	ASSERT_TRUE(burst_answer(&b, 5));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(0, peer_op_wait(&b.op[i]));
		EXPECT_EQ(0, peer_op_wrong(&b.op[i]));
	}
	EXPECT_EQ(0, burst_stop(&b));
}

/* All of them end in the same way, and none has been written to. */
static void all_end(struct __test_metadata *_metadata, struct burst *b, unsigned int from,
		    int error, uint32_t kind, uint64_t seq)
{
	struct coll_status s;
	unsigned int i;
	uint64_t e;

	for (i = from; i < b->nr; i++) {
		int32_t v;

		EXPECT_EQ(-error, peer_op_wait(&b->op[i]));
		for (e = 0; e < b->op[i].cmd.count; e++) {
			memcpy(&v, b->op[i].out.mem + e * 4, 4);
			if (v != test_value(0, e))
				break;
		}
		EXPECT_EQ(b->op[i].cmd.count, e) TH_LOG("op %u has been written to", i + 1);
	}
	ASSERT_EQ(0, raw_status(b->p.c.fd[0], &s));
	EXPECT_EQ(error, s.cause.error);
	EXPECT_EQ(kind, s.cause.kind);
	EXPECT_EQ(seq, s.cause.seq);
	EXPECT_EQ(0, burst_stop(b));
}

/* To the peer the first one was one in which it has nothing to send. */
TEST(later_one_first)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_EQ(2, burst_read(&b, 10000));
	ASSERT_TRUE(burst_answer(&b, 2));
	all_end(_metadata, &b, 0, EBADE, COLL_CAUSE_MISMATCH, 1);
}

/*
 * DATA of one that runs, and expects none, for it only has to send: there is no room in the
 * window of the stream. It is not what the next one expects, which runs, too.
 */
static void not_expected(struct __test_metadata *_metadata, uint64_t flip, int error,
			 uint32_t kind)
{
	struct coll_frame f;
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_OUT, BYTES / 2 / 4));
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
	/* It has sent all. */
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	all_end(_metadata, &b, 1, error, kind, 2);
}

TEST(another_one_that_runs)	{ not_expected(_metadata, 1, EBADE, COLL_CAUSE_MISMATCH); }
TEST(not_what_runs)		{ not_expected(_metadata, 0, EPROTO, COLL_CAUSE_PROTO); }

/* It waits in one of them that is another one to it, and says so. */
TEST(announced_as_another_one)
{
	uint8_t buf[COLL_WIRE_HDR];
	struct coll_frame f;
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_EQ(2, burst_read(&b, 10000) + burst_read(&b, 10000) - 1);
	peer_frame(&b.p, &f, COLL_FRAME_POST, 0);
	f.seq = 2;
	f.signature = 1;
	coll_wire_put_header(buf, &f);
	ASSERT_TRUE(peer_write(&b.p, 0, buf, sizeof(buf)));
	all_end(_metadata, &b, 0, EBADE, COLL_CAUSE_MISMATCH, 2);
}

/* Twice the first one: nobody expects that, whatever else is expected. */
TEST(once_more)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_answer(&b, 1));
	ASSERT_EQ(0, peer_op_wait(&b.op[0]));
	ASSERT_TRUE(burst_answer(&b, 1));
	all_end(_metadata, &b, 1, EPROTO, COLL_CAUSE_PROTO, 1);
}

/* Its last rank leaves after the first one: that one ends well. */
static void leaves(struct __test_metadata *_metadata, bool bye_first, bool closes)
{
	uint8_t bye[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];
	struct burst b;
	size_t n;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
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
	all_end(_metadata, &b, 1, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

TEST(leaves_after_the_first)		{ leaves(_metadata, false, false); }
TEST(leaves_before_it_is_through)	{ leaves(_metadata, true, false); }
TEST(leaves_and_closes)			{ leaves(_metadata, true, true); }

/* Rank 1 has left after the first one; the news takes a moment. */
static bool burst_bye(struct burst *b)
{
	uint8_t bye[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	return peer_write(&b->p, 0, bye, peer_put_bye(&b->p, PEER_RANK, 1, bye)) &&
	       !usleep(300000);
}

/* An op that is posted after that waits for the one before it, too. The status tells the cause. */
TEST(posted_after_the_last)
{
	struct coll_status s;
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_TRUE(burst_bye(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	EXPECT_EQ(0, burst_read(&b, 100));
	ASSERT_EQ(0, raw_status(b.p.c.fd[0], &s));
	EXPECT_EQ(COLL_STATE_READY, s.state);
	EXPECT_EQ(0, s.completed);
	ASSERT_TRUE(burst_answer(&b, 1));
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	EXPECT_EQ(0, peer_op_wrong(&b.op[0]));
	all_end(_metadata, &b, 1, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

/* A message to or from it can never be, and ends alone: the collective is not over yet. */
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
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
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

/* Its node has failed, because of an op that another rank had left: so it is with messages. */
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
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_TRUE(peer_op_init(&msg, &b.p, PEER_BCAST_IN, 4, 0));
	raw_recv(&msg.cmd, msg.out.mem, 4, COLL_I32, PEER_RANK, COLL_TAG_ANY, NULL);
	if (before)
		ASSERT_TRUE(peer_op_start(&msg, &b.p));
	while (before && !s.messages)
		ASSERT_EQ(0, raw_status(b.p.c.fd[0], &s));
	ASSERT_TRUE(peer_write(&b.p, 0, buf, peer_put_abort(&b.p, &cause, buf)));
	test_sleep_us(300000);	/* the news travels */
	if (!before)
		ASSERT_TRUE(peer_op_start(&msg, &b.p));
	EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&msg));
	EXPECT_EQ(0, peer_op_exit(&msg));
	all_end(_metadata, &b, 0, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

TEST(message_while_it_fails)	{ message_to_who_has_failed(_metadata, true); }
TEST(message_when_it_has)	{ message_to_who_has_failed(_metadata, false); }

/* The deadline of one that can never be: nobody is late for it. */
TEST(deadline_after_the_last)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_TRUE(burst_bye(&b));
	ASSERT_TRUE(peer_op_init(&b.op[1], &b.p, PEER_BCAST_IN, COUNT, SECOND / 10));
	ASSERT_TRUE(peer_op_start(&b.op[1], &b.p));
	b.nr++;
	all_end(_metadata, &b, 0, EHOSTDOWN, COLL_CAUSE_CLOSE, 2);
}

/* The data stream ends in the middle of the second one. */
TEST(breaks_off)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_TRUE(burst_answer(&b, 1));
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	ASSERT_EQ(1, burst_read(&b, 10000));
	peer_close(&b.p, 1, true);
	all_end(_metadata, &b, 1, EHOSTDOWN, COLL_CAUSE_LINK, 2);
}

TEST(aborted)
{
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_EQ(0, raw_abort(b.p.c.fd[0], 7));
	all_end(_metadata, &b, 0, ESHUTDOWN, COLL_CAUSE_ABORT, b.nr);
}

static bool send_mode(const char *mode)
{
	FILE *f = fopen("/sys/module/coll/parameters/send_mode", "w");

	return f && fputs(mode, f) >= 0 && !fclose(f);
}

/* While the real rank sends what there is room for, at any moment. */
static void abort_while_sending(struct __test_metadata *_metadata, const char *mode)
{
	uint64_t lots = test_seed();
	unsigned int i, n, left;
	struct burst b;
	int ret;

	if (!send_mode(mode))
		SKIP(return, "only root says how large frames go");
	for (n = 0; n < test_scale(20); n++) {
		ASSERT_TRUE(burst_start(&b));
		for (i = 0; i < 8; i++)
			ASSERT_TRUE(burst_post(&b, PEER_BCAST_OUT, BYTES / 8 / 4));
		for (i = 1; i <= 8; i++)
			ASSERT_TRUE(burst_answer(&b, i));
		for (left = test_rand(&lots) % 40; left; left--)
			burst_read(&b, 5);
		ASSERT_EQ(0, raw_abort(b.p.c.fd[0], 7));
		/* no ABORT comes from here, so what is lent comes back by this */
		peer_close(&b.p, 1, true);
		for (i = 0; i < 8; i++) {
			ret = peer_op_wait(&b.op[i]);
			EXPECT_TRUE(!ret || ret == -ESHUTDOWN) TH_LOG("op %u: %d", i + 1, ret);
		}
		EXPECT_EQ(0, burst_stop(&b));
	}
	EXPECT_TRUE(send_mode("auto"));
}

TEST(aborted_while_copying)	{ abort_while_sending(_metadata, "copy"); }
TEST(aborted_while_splicing)	{ abort_while_sending(_metadata, "splice"); }
TEST(aborted_while_lending)	{ abort_while_sending(_metadata, "ubuf"); }

TEST_HARNESS_MAIN
