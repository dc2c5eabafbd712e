// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node of two communicators on the same streams: the end of one must
 * not harm the other.
 */
#include <poll.h>
#include <sys/socket.h>

#include "harness.h"
#include "two.h"

/* A failure of one communicator does not end the other, nor do frames that come for it later. */
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
		ASSERT_EQ(0, two_establish(&t));
		bad = i & 1 ? &t.a : &t.b;
		good = i & 1 ? &t.b : &t.a;
		switch (i / 2) {
		case 0:
			n = peer_put_abort(bad, &cause, buf);
			ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
			EXPECT_TRUE(two_fails(bad, ESHUTDOWN));
			break;
		case 1:	/* BYE of a rank that is on the real node */
			n = peer_put_bye(bad, 0, 0, buf);
			ASSERT_TRUE(peer_write(&t.a, 0, buf, n));
			EXPECT_TRUE(two_fails(bad, EPROTO));
			break;
		case 2:	/* in the middle of a frame */
			EXPECT_EQ(0, two_works(bad, PEER_ALLREDUCE));
			raw_broadcast(&cmd, NULL, 500, COLL_I32, 1);
			n = peer_put_op(bad, &cmd, 2, 4096, buf);
			ASSERT_TRUE(peer_write(&t.a, 1, buf, n - 700));
			EXPECT_EQ(0, raw_abort(bad->c.fd[0], 1));
			ASSERT_TRUE(peer_write(&t.a, 1, buf + n - 700, 700));
			break;
		default:
			EXPECT_EQ(0, raw_abort(bad->c.fd[0], 1));
		}
		EXPECT_EQ(0, two_error(good)) TH_LOG("case %d", i);
		EXPECT_EQ(0, two_works(good, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		n = peer_put_op(bad, &cmd, 3, 4096, buf);
		ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
		EXPECT_EQ(0, two_works(good, PEER_BCAST_IN)) TH_LOG("case %d", i);
		/* the same when no rank of the failed communicator is left */
		peer_leave(bad);
		ASSERT_TRUE(peer_write(&t.a, 1, buf, n));
		EXPECT_EQ(0, two_works(good, PEER_ALLREDUCE)) TH_LOG("case %d", i);
		peer_leave(good);
		peer_close(&t.a, 0, false);
		peer_close(&t.a, 1, false);
	}
}

/* The rank of @b is in the middle of sending when its communicator fails. *since: just before. */
static bool fail_while_sending(struct two *t, struct peer_op *o, uint64_t *since)
{
	struct pollfd pfd = { .fd = t->a.sock[1], .events = POLLIN };
	static uint8_t buf[PEER_BYTES];

	if (!peer_op_init(o, &t->b, PEER_BCAST_OUT, 1000000, 20 * TWO_SECOND) ||
	    !peer_op_start(o, &t->b) ||
	    !peer_write(&t->a, 1, buf, peer_put_op(&t->b, &o->cmd, 1, 4096, buf)))
		return false;
	/* the socket is full, or all of the window is in it */
	if (poll(&pfd, 1, TWO_MS) != 1)
		return false;
	test_sleep_us(50000);
	*since = test_now_ns();
	return !raw_abort(t->b.c.fd[0], 1);
}

/*
 * The peer has to say that it does not read the bytes of @b any more. The rank waits for that for
 * a second. Return: false: the machine stood still meanwhile. Then the rank may have given up.
 */
static bool abort_in_time(struct two *t, uint64_t since)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	uint8_t buf[COLL_WIRE_HDR + COLL_WIRE_CTRL_MAX];

	return peer_write(&t->a, 0, buf, peer_put_abort(&t->b, &cause, buf)) &&
	       test_now_ns() - since < TWO_SECOND * 9 / 10;
}

/*
 * Run an op of @a, which does not fail. *@in_time becomes false if the streams have been broken
 * off, because the ABORT was read too late.
 */
static int other_works(struct two *t, bool *in_time)
{
	int ret = *in_time ? two_works(&t->a, PEER_BARRIER) : 0;

	if (ret == -EHOSTDOWN || two_error(&t->a) == EHOSTDOWN) {
		*in_time = false;
		return 0;
	}
	return ret;
}

/* The peer sends ABORT at once. Return: false: the machine stood still, so nothing is known. */
static bool half_a_frame(struct __test_metadata *_metadata)
{
	struct coll_frame f;
	struct peer_op o;
	struct two t;
	uint64_t since;
	bool in_time;

	ASSERT_EQ(0, two_establish(&t));
	ASSERT_TRUE(fail_while_sending(&t, &o, &since));
	in_time = abort_in_time(&t, since);
	EXPECT_EQ(-ESHUTDOWN, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	while (in_time && peer_read(&t.a, 1, &f, TWO_SILENCE))
		EXPECT_TRUE(two_is(&f, &t.b, COLL_FRAME_DATA));
	EXPECT_EQ(0, other_works(&t, &in_time));
	if (in_time) {
		do {
			ASSERT_TRUE(peer_read(&t.a, 1, &f, TWO_MS));
		} while (two_is(&f, &t.b, COLL_FRAME_DATA));
		EXPECT_TRUE(two_is(&f, &t.a, COLL_FRAME_DATA));
	}
	two_stop(&t);
	return in_time;
}

#define TRIES	5

/* A frame of an op that fails is filled up with zeroes, so that later frames are in step. */
TEST(half_a_frame_sent)
{
	bool known = false;
	int i;

	for (i = 0; i < TRIES && !known; i++)
		known = half_a_frame(_metadata);
	EXPECT_TRUE(known);
}

/*
 * Read data until nothing comes for @quiet milliseconds, and wait @ms for the first. Return:
 * bytes.
 */
static size_t drain(const struct two *t, int ms, int quiet)
{
	struct pollfd pfd = { .fd = t->a.sock[1], .events = POLLIN };
	uint8_t junk[4096];
	size_t got = 0;
	ssize_t n;

	for (; poll(&pfd, 1, ms) == 1; ms = quiet) {
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

/* The peer sends ABORT when nothing more comes. Return: false: as half_a_frame(). */
static bool zeroes(struct __test_metadata *_metadata, const char *mode)
{
	int little = 65536;
	struct coll_frame f;
	struct peer_op o;
	struct two t;
	uint64_t since;
	bool in_time;
	size_t got;

	ASSERT_EQ(0, two_establish(&t));
	ASSERT_EQ(0, setsockopt(t.a.sock[1], SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)));
	ASSERT_TRUE(fail_while_sending(&t, &o, &since));
	drain(&t, TWO_QUIET, TWO_QUIET);
	in_time = abort_in_time(&t, since);
	got = in_time ? drain(&t, TWO_MS, TWO_SILENCE) : 0;
	EXPECT_EQ(-ESHUTDOWN, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	EXPECT_EQ(0, other_works(&t, &in_time)) TH_LOG("%s", mode);
	if (in_time) {
		EXPECT_LT(0, got) TH_LOG("%s", mode);
		/* in step */
		ASSERT_TRUE(peer_read(&t.a, 1, &f, TWO_MS));
		EXPECT_TRUE(two_is(&f, &t.a, COLL_FRAME_DATA));
	}
	two_stop(&t);
	return in_time;
}

/*
 * The zeroes go by another stream than the ABORT that ends the op. If they came first, the peer
 * would take them for data. So the rank sends them after the ABORT of the peer.
 */
TEST(zeroes_wait)
{
	static const char *const modes[] = { "copy", "splice", "ubuf" };
	bool known;
	int i, k;

	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(set_send_mode(modes[i]));
		known = false;
		for (k = 0; k < TRIES && !known; k++)
			known = zeroes(_metadata, modes[i]);
		EXPECT_TRUE(known) TH_LOG("%s", modes[i]);
	}
	EXPECT_TRUE(set_send_mode("auto"));
}

/* If the peer sends no ABORT the op does not wait forever: the stream is broken off. */
TEST(pages_called_back)
{
	static const char *const modes[] = { "splice", "ubuf" };
	struct peer_op o;
	uint64_t since;
	struct two t;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(set_send_mode(modes[i]));
		ASSERT_EQ(0, two_establish(&t));
		ASSERT_TRUE(fail_while_sending(&t, &o, &since));
		EXPECT_EQ(-ESHUTDOWN, peer_op_wait(&o)) TH_LOG("%s", modes[i]);
		EXPECT_EQ(0, peer_op_exit(&o));
		EXPECT_TRUE(two_fails(&t.a, EHOSTDOWN)) TH_LOG("%s", modes[i]);
		two_stop(&t);
	}
	EXPECT_TRUE(set_send_mode("auto"));
}

/* After bytes that are no frame the beginning of the next frame is unknown: both fail. */
TEST(garbage_fails_all)
{
	static const char junk[] = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n12345678";
	struct two t;
	int st;

	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, two_establish(&t));
		ASSERT_TRUE(peer_write(&t.a, st, junk, sizeof(junk)));
		EXPECT_TRUE(two_fails(&t.a, EPROTO));
		EXPECT_TRUE(two_fails(&t.b, EPROTO));
		two_stop(&t);
	}
}

/*
 * The streams end: a communicator that has got BYE is well, the other fails. If the data stream ends
 * and nothing needs it, a BYE may still come for dead_after seconds.
 */
TEST(streams_end)
{
	char dead[16] = "";
	uint8_t buf[256];
	struct two t;
	int st;

	ASSERT_TRUE(test_get(TEST_DEAD_AFTER, dead, sizeof(dead)));
	ASSERT_TRUE(test_put(TEST_DEAD_AFTER, "2"));
	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, two_establish(&t));
		ASSERT_TRUE(peer_write(&t.a, 0, buf, peer_put_bye(&t.a, 1, 0, buf)));
		peer_close(&t.a, st, false);
		EXPECT_TRUE(two_fails(&t.b, EHOSTDOWN));
		EXPECT_EQ(0, two_error(&t.a));
		two_stop(&t);
	}
	test_put(TEST_DEAD_AFTER, dead);
}

TEST_HARNESS_MAIN
