// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node: greetings, ABORT and BYE, right and wrong, and
 * streams that end.
 */
#include <poll.h>
#include <sys/socket.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL

/* The result of an op that waits while @bytes come on @stripe. */
static void op_hears(struct __test_metadata *_metadata, struct peer *p, int stripe,
		     const void *bytes, size_t n, int error, const char *name)
{
	struct coll_status s;
	struct peer_op o;
	uint64_t when;

	ASSERT_TRUE(peer_op_init(&o, p, PEER_BCAST_IN, 1000, 5 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, p));
	test_sleep_us(2000);
	when = test_now_ns();
	peer_write(p, stripe, bytes, n);
	EXPECT_EQ(error, -peer_op_wait(&o)) TH_LOG("%s", name);
	EXPECT_FALSE(test_late(when, o.when)) {
		TH_LOG("%s", name);
	}
	ASSERT_EQ(0, raw_status(p->c.fd[0], &s));
	EXPECT_EQ(error, s.cause.error) TH_LOG("%s", name);
	if (error == EPROTO) {
		EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
		EXPECT_EQ(1, s.cause.node);
	}
	EXPECT_EQ(0, peer_op_exit(&o));
}

/* Offsets in HELLO, whose payload begins at 56. PROOF is that of the right one. */
static const struct {
	const char *name;
	int at;
	int value;	/* -1: anything else than it is */
} bad_hellos[] = {
	{ "magic", 0, 1 }, { "old", 4, 1 }, { "version", 4, 3 }, { "type", 5, 7 }, { "flags", 6, 1 },
	{ "comm", 8, -1 }, { "epoch", 16, 1 }, { "transfer", 20, 1 },
	{ "seq", 24, 1 }, { "offset", 32, 1 }, { "length", 40, 63 },
	{ "longer", 40, 65 }, { "crc", 44, 1 }, { "signature", 48, 1 },
	{ "name", 56, -1 }, { "end of the name", 71, -1 }, { "nonce", 72, -1 },
	{ "end of the nonce", 87, -1 }, { "size", 88, 3 },
	{ "nr_nodes", 92, 1 }, { "src", 96, 0 }, { "src beyond", 96, 2 },
	{ "dst", 100, 1 }, { "stripe", 104, 5 }, { "wire_min", 108, 3 },
	{ "wire_max", 112, 1 }, { "reserved", 116, 1 },
};

TEST(bad_hello)
{
	uint8_t buf[PEER_GREET];
	struct peer p;
	size_t i, n;
	int st;

	for (st = 0; st < 2; st++) {
		for (i = 0; i < sizeof(bad_hellos) / sizeof(bad_hellos[0]); i++) {
			ASSERT_EQ(0, peer_start(&p, false));
			n = peer_put_greet(&p, st, buf);
			if (bad_hellos[i].value < 0)
				buf[bad_hellos[i].at] ^= 0x10;
			else
				buf[bad_hellos[i].at] = bad_hellos[i].value;
			op_hears(_metadata, &p, st, buf, n, EPROTO, bad_hellos[i].name);
			peer_stop(&p);
		}
	}
}

TEST(hello_twice_or_not_first)
{
	uint8_t buf[256];
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN,
		.rank = 1, .node = 1,
	};
	struct coll_cmd barrier;
	struct peer p;
	size_t n;
	int st;

	raw_barrier(&barrier);
	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, peer_start(&p, true));
		n = peer_put_hello(&p, st, buf);
		op_hears(_metadata, &p, st, buf, n, EPROTO, "twice");
		peer_stop(&p);
		ASSERT_EQ(0, peer_start(&p, false));
		n = peer_put_op(&p, &barrier, 1, 4096, buf);
		op_hears(_metadata, &p, st, buf, n, EPROTO, "data first");
		peer_stop(&p);
		ASSERT_EQ(0, peer_start(&p, false));
		n = peer_put_abort(&p, &cause, buf);
		op_hears(_metadata, &p, st, buf, n, EPROTO, "abort first");
		peer_stop(&p);
		ASSERT_EQ(0, peer_start(&p, false));
		n = peer_put_bye(&p, 1, 0, buf);
		op_hears(_metadata, &p, st, buf, n, EPROTO, "bye first");
		peer_stop(&p);
	}
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_op(&p, &barrier, 1, 4096, buf);
	op_hears(_metadata, &p, 0, buf, n, EPROTO, "data on control");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_abort(&p, &cause, buf);
	op_hears(_metadata, &p, 1, buf, n, EPROTO, "abort on data");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 1, 0, buf);
	op_hears(_metadata, &p, 1, buf, n, EPROTO, "bye on data");
	peer_stop(&p);
}

TEST(aborts)
{
	struct coll_cause good = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1,
		.node = 1, .pid = 4711, .code = 99, .seq = 1, .host = "elsewhere",
	};
	static const struct { const char *name; int at; uint8_t value; } bad[] = {
		{ "kind 0", 56, 0 }, { "kind", 56, 200 }, { "error 0", 60, 0 },
		{ "error", 61, 0xff }, { "rank", 66, 1 }, { "node", 70, 1 },
		{ "signal", 77, 1 }, { "reserved", 84, 1 }, { "host", 96, 7 },
		{ "host end", 127, 'x' }, { "length", 40, 71 },
	};
	struct coll_status s;
	uint8_t buf[256];
	struct peer p;
	size_t i, n;

	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_abort(&p, &good, buf);
	op_hears(_metadata, &p, 0, buf, n, ESHUTDOWN, "good");
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(0, memcmp(&good, &s.cause, sizeof(good)));
	/* a second one changes nothing */
	good.code = 1;
	n = peer_put_abort(&p, &good, buf);
	peer_write(&p, 0, buf, n);
	test_sleep_us(20000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(99, s.cause.code);
	peer_stop(&p);

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(0, peer_start(&p, true));
		n = peer_put_abort(&p, &good, buf);
		buf[bad[i].at] = bad[i].value;
		op_hears(_metadata, &p, 0, buf, n, EPROTO, bad[i].name);
		peer_stop(&p);
	}
}

TEST(byes)
{
	uint8_t buf[256];
	struct peer p;
	size_t n;

	/* while an op waits for it */
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 1, 0, buf);
	op_hears(_metadata, &p, 0, buf, n, EHOSTDOWN, "now");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 0, 1, buf);
	op_hears(_metadata, &p, 0, buf, n, EPROTO, "of our own rank");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 2, 1, buf);
	op_hears(_metadata, &p, 0, buf, n, EPROTO, "of no rank");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 1, 1, buf);
	buf[60] = 1;
	op_hears(_metadata, &p, 0, buf, n, EPROTO, "reserved");
	peer_stop(&p);
}

/* Take @want bytes from the real rank on the data stream, all there is on control. */
static void drain(struct peer *p, size_t want)
{
	char buf[1024];
	ssize_t n;

	while (want) {
		n = recv(p->sock[1], buf, want < sizeof(buf) ? want : sizeof(buf), 0);
		if (n <= 0)
			break;
		want -= n;
	}
	test_sleep_us(20000);
	while (recv(p->sock[0], buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

/* A rank leaves in order after op 1: its BYE and the end of its streams overtake data. */
TEST(bye_overtakes_data)
{
	static uint8_t buf[8192];
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	size_t n;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, 5 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	drain(&p, COLL_WIRE_HDR);
	ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_bye(&p, 1, 1, buf)));
	peer_close(&p, 0, false);
	test_sleep_us(100000);
	n = peer_put_op(&p, &o.cmd, 1, 999, buf);
	ASSERT_TRUE(peer_write(&p, 1, buf, n));
	peer_close(&p, 1, false);
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_wrong(&o));
	peer_op_exit(&o);
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BARRIER, 0, 5 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&o));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
	peer_op_exit(&o);
	peer_stop(&p);
}

/* It says that it takes part in op 1, and is gone before: that is a lie. */
TEST(bye_and_gone)
{
	static uint8_t buf[8192];
	struct peer_op o;
	struct peer p;
	int kind, hard;

	for (kind = 0; kind < PEER_NR_KINDS; kind++) {
		for (hard = 0; hard < 2; hard++) {
			ASSERT_EQ(0, peer_start(&p, true));
			if (!hard)
				drain(&p, 0);
			ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_bye(&p, 1, 1, buf)));
			test_sleep_us(10000);
			peer_close(&p, 0, hard);
			peer_close(&p, 1, hard);
			ASSERT_TRUE(peer_op_init(&o, &p, kind, 1000, 2 * SECOND));
			ASSERT_TRUE(peer_op_start(&o, &p));
			EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&o)) {
				TH_LOG("kind %d, hard %d", kind, hard);
			}
			EXPECT_EQ(0, peer_op_exit(&o));
			peer_stop(&p);
		}
	}
}

/* Streams end: after @have bytes of what the op waits for. */
static void stream_ends(struct __test_metadata *_metadata, int stripe, bool hard,
			size_t have)
{
	static uint8_t buf[8192];
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	uint64_t when;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, 5 * SECOND));
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

/* TCP never reads past an urgent byte. Only a peer that means harm sends one. */
TEST(urgent_byte)
{
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	int st;

	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, peer_start(&p, true));
		ASSERT_TRUE(peer_op_init(&o, &p, PEER_ALLREDUCE, 1000, 5 * SECOND));
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
	/* and even before the handshake */
	ASSERT_EQ(0, peer_start(&p, false));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_ALLREDUCE, 1000, SECOND / 5));
	ASSERT_TRUE(peer_op_start(&o, &p));
	EXPECT_EQ(-ETIMEDOUT, peer_op_wait(&o));
	peer_op_exit(&o);
	peer_stop(&p);
}

/* Does the stream end at the peer? The real rank's node has given its socket back then. */
static bool stream_ended(struct peer *p, int stripe)
{
	struct pollfd pfd = { .fd = p->sock[stripe], .events = POLLIN };
	char junk[1024];

	while (poll(&pfd, 1, 10 * test_bound_ms()) == 1)
		if (recv(pfd.fd, junk, sizeof(junk), MSG_DONTWAIT) <= 0)
			return true;
	return false;
}

/*
 * The peer sends a frame or closes a stream while the real rank may have left. In @said: the
 * error that the frame must cause; in @cut: it has closed a stream.
 */
static void meddle(struct peer *p, uint64_t *lots, int *said, bool *cut)
{
	static const struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	uint8_t buf[256];
	size_t n = 0;

	*said = 0;
	*cut = test_below(lots, 2);
	switch (test_below(lots, 4)) {
	case 0:
		n = peer_put_abort(p, &cause, buf);
		*said = ESHUTDOWN;
		break;
	case 1:
		n = peer_put_hello(p, 0, buf);
		*said = EPROTO;
		break;
	case 2:
		n = peer_put_bye(p, 1, 0, buf);
		*said = -1;
		break;
	}
	peer_write(p, 0, buf, n);
	if (*cut) {
		peer_close(p, test_below(lots, 2), test_below(lots, 2));
		test_sleep_us(test_below(lots, 200));
	}
}

/*
 * Everything ends at once: the reaper must get along with what still comes. A rank that
 * stays hears of it; of one that left the sockets are given back, whatever came.
 */
TEST(all_at_once)
{
	uint64_t lots = test_seed();
	unsigned int i, st, ends = 0;
	struct coll_status s;
	struct peer p;
	bool cut;
	int said;

	for (i = 0; i < test_scale(200); i++) {
		ASSERT_EQ(0, peer_start(&p, true));
		if (test_below(&lots, 2)) {
			close(p.c.fd[0]);
			p.c.fd[0] = -1;
		}
		meddle(&p, &lots, &said, &cut);
		if (p.c.fd[0] >= 0 && (said > 0 || (!said && cut))) {
			ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s)) {
				TH_LOG("round %u: said %d, cut %d", i, said, cut);
			}
			EXPECT_TRUE(s.cause.error == said ||
				    (cut && s.cause.error == EHOSTDOWN)) {
				TH_LOG("round %u: said %d, cut %d: %u", i, said, cut,
				       s.cause.error);
			}
		}
		if (p.c.fd[0] >= 0)
			close(p.c.fd[0]);
		p.c.fd[0] = -1;
		for (st = 0; st < 2; st++) {
			if (p.sock[st] < 0)
				continue;
			ASSERT_TRUE(stream_ended(&p, st)) {
				TH_LOG("round %u: stream %u: said %d, cut %d", i, st, said, cut);
			}
			ends++;
		}
		peer_stop(&p);
	}
	EXPECT_GT(ends, i);
}

/* The user has kept a descriptor of the socket, and writes to it. */
TEST(user_meddles_with_the_socket)
{
	static uint8_t buf[8192];
	struct coll_status s;
	struct peer_op o;
	static const struct peer none;
	int sv[2][2], st;
	struct peer p;
	char junk[64];

	ASSERT_EQ(0, peer_second(&p, &none));
	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, raw_tcp_pair(sv[st]));
		ASSERT_EQ(0, raw_link(p.c.fd[0], 1, sv[st][0], st));
		p.sock[st] = sv[st][1];
		ASSERT_TRUE(peer_hear(&p, &p, st));
		ASSERT_TRUE(peer_write(&p, st, buf, peer_put_greet(&p, st, buf)));
	}
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	test_sleep_us(5000);
	/* steals bytes, sends some, shuts down */
	recv(sv[1][0], junk, sizeof(junk), MSG_DONTWAIT);
	peer_write(&p, 1, buf, peer_put_op(&p, &o.cmd, 1, 4096, buf));
	recv(sv[1][0], junk, sizeof(junk), MSG_DONTWAIT);
	send(sv[1][0], junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(sv[0][0], SHUT_RDWR);
	shutdown(sv[1][0], SHUT_RDWR);
	peer_op_wait(&o);
	EXPECT_EQ(0, peer_op_exit(&o));
	/* Stolen or not, the op may have ended well before the streams did. */
	EXPECT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	for (st = 0; st < 2; st++)
		close(sv[st][0]);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
