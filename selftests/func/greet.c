// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, with the key and without it. The real rank does not accept a
 * peer without the key, even if the peer sends recorded frames or sends frames back. The real
 * rank does not reveal the key.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL
#define QUIET	100
#define PATIENT	10000

/* The real rank fails, for the peer has broken the protocol, and does not tell the peer. */
static void is_refused(struct __test_metadata *_metadata, struct peer *p, const char *what)
{
	struct coll_status s;

	ASSERT_EQ(0, raw_status_failed(p->c.fd[0], &s)) TH_LOG("%s: believed", what);
	EXPECT_EQ(EPROTO, s.cause.error) TH_LOG("%s", what);
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind) TH_LOG("%s", what);
	EXPECT_EQ(1, s.cause.node) TH_LOG("%s", what);
	EXPECT_EQ(0, s.nr_links) TH_LOG("%s", what);
}

/* The bytes @b come in place of what the peer should say on @stripe, the other stream is right. */
static void says(struct __test_metadata *_metadata, struct peer *p, int stripe, const void *b,
		 size_t n, const char *what)
{
	uint8_t right[PEER_GREET];

	ASSERT_TRUE(peer_write(p, !stripe, right, peer_put_greet(p, !stripe, right)));
	ASSERT_TRUE(peer_write(p, stripe, b, n));
	is_refused(_metadata, p, what);
}

/* A peer that is right in all but its PROOF is refused, on both streams. */
static size_t put_changed(const struct peer *p, int stripe, int what, uint8_t *buf)
{
	struct coll_hello mine = p->mine[stripe], theirs = p->theirs[stripe];
	struct coll_hello *from = &mine, *to = &theirs;
	uint8_t key[COLL_KEY_SIZE], *mac = buf + COLL_WIRE_HDR;
	size_t n = peer_put_proof(p, stripe, buf);

	memcpy(key, p->c.key, sizeof(key));
	switch (what) {
	case 0:
		key[15] ^= 0x80;
		break;
	case 1:
		from->nonce[0] ^= 1;
		break;
	case 2:
		to->nonce[15] ^= 1;
		break;
	case 3:
		from->src_node = 0;
		break;
	case 4:
		to->src_node = 1;
		break;
	case 5:
		from->stripe ^= 1;
		to->stripe ^= 1;
		break;
	case 6:
		from->stripe += 2;
		to->stripe += 2;
		break;
	case 7:
		from->size++;
		break;
	case 8:
		to->wire_max++;
		break;
	case 9:		/* the direction: that of the real rank */
		from = &theirs;
		to = &mine;
		break;
	}
	greet_put_proof(key, from, to, mac);
	if (what == 10)
		mac[COLL_WIRE_PROOF - 1] ^= 1;
	if (what == 11)
		memset(mac, 0, COLL_WIRE_PROOF);
	return n;
}

TEST(wrong_proof)
{
	static const char * const what[] = {
		"key", "nonce of the sender", "nonce of the receiver", "source", "destination",
		"stripe", "link", "size", "version", "direction", "last bit", "zeroes",
	};
	uint8_t buf[PEER_GREET];
	struct peer p;
	int i, st;
	size_t n;

	for (st = 0; st < 2; st++) {
		for (i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
			ASSERT_EQ(0, peer_start(&p, false));
			n = peer_put_hello(&p, st, buf);
			n += put_changed(&p, st, i, buf + n);
			says(_metadata, &p, st, buf, n, what[i]);
			peer_stop(&p);
		}
	}
}

/* HELLO and PROOF of a run that went well, in another run with the same key. */
TEST(replay)
{
	uint8_t old[2][PEER_GREET], buf[PEER_GREET];
	struct peer p, again;
	int st, sv[2], k;
	size_t n;

	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, peer_start(&p, false));
		for (k = 0; k < 2; k++) {
			n = peer_put_greet(&p, k, old[k]);
			ASSERT_TRUE(peer_write(&p, k, old[k], n));
		}
		ASSERT_TRUE(peer_is_believed(&p));

		again = p;
		again.c.fd[0] = raw_open();
		close(p.c.fd[0]);
		peer_close(&p, 0, false);
		peer_close(&p, 1, false);
		p.c.fd[0] = -1;
		ASSERT_EQ(0, raw_join(again.c.fd[0], &again.c, 0));
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, raw_tcp_pair(sv));
			ASSERT_EQ(0, raw_link(again.c.fd[0], 1, sv[0], k));
			close(sv[0]);
			again.sock[k] = sv[1];
			ASSERT_TRUE(peer_hear(&again, &again, k));
		}
		EXPECT_NE(0, memcmp(again.theirs[st].nonce, p.theirs[st].nonce,
				    COLL_WIRE_NONCE));
		says(_metadata, &again, st, old[st], n, "replay");
		peer_stop(&again);
	}
	/* with the right nonce the peer is believed: only the old nonce was wrong */
	ASSERT_EQ(0, peer_start(&p, false));
	for (k = 0; k < 2; k++)
		ASSERT_TRUE(peer_write(&p, k, buf, peer_put_greet(&p, k, buf)));
	EXPECT_TRUE(peer_is_believed(&p));
	peer_stop(&p);
}

/* The real rank gets back what it sends: as it is, and as if it came from the peer. */
TEST(reflection)
{
	uint8_t buf[PEER_GREET];
	struct peer p;
	int st, i;
	size_t n;

	for (st = 0; st < 2; st++) {
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, peer_start(&p, false));
			if (i < 2)
				p.mine[st] = p.theirs[st];
			if (i == 1) {
				/* only the nonce is the same: and so is then the key, see below */
				p.mine[st].src_node = 1;
				p.mine[st].dst_node = 0;
			}
			n = peer_put_greet(&p, st, buf);
			if (i == 2) {
				/* PROOF of the real rank itself, the answer to a right HELLO */
				n = peer_put_hello(&p, st, buf);
				ASSERT_TRUE(peer_write(&p, st, buf, n));
				ASSERT_TRUE(peer_is_proved(&p, &p, st));
				n = peer_put_proof(&p, st, buf);
				memcpy(buf + COLL_WIRE_HDR, p.payload, COLL_WIRE_PROOF);
			}
			says(_metadata, &p, st, buf, n, "reflection");
			peer_stop(&p);
		}
	}
}

/* Frames of a peer that has not proved anything, or says PROOF before HELLO. */
TEST(nothing_before_proof)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_ABORT, .error = ESHUTDOWN, .rank = 1, .node = 1,
	};
	static uint8_t buf[PEER_BYTES];
	struct peer_op o;
	struct peer p;
	int i, k, bad;
	size_t n;

	for (i = 0; i < 5; i++) {
		int st = i == 3;

		ASSERT_EQ(0, peer_start(&p, false));
		ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, 20 * SECOND));
		ASSERT_TRUE(peer_op_start(&o, &p));
		n = i == 4 ? 0 : peer_put_hello(&p, st, buf);
		if (i == 0)
			n += peer_put_abort(&p, &cause, buf + n);
		else if (i == 1)
			n += peer_put_bye(&p, 1, 0, buf + n);
		else if (i == 2)
			n += peer_put_hello(&p, st, buf + n);
		else if (i == 3)
			n += peer_put_op(&p, &o.cmd, 1, 4096, buf + n);
		else
			n += peer_put_proof(&p, st, buf + n);
		says(_metadata, &p, st, buf, n, "early");
		EXPECT_EQ(-EPROTO, peer_op_wait(&o)) TH_LOG("case %d", i);
		for (bad = 0, k = 0; k < 1000; k++)
			bad += ((int32_t *)o.out.mem)[k] != test_value(0, k);
		EXPECT_EQ(0, bad) TH_LOG("case %d: written", i);
		EXPECT_EQ(0, peer_op_exit(&o));
		peer_stop(&p);
	}
}

/* Before it has the peer's PROOF, the rank sends no data and no BYE. */
TEST(nothing_sent_before_proof)
{
	uint8_t buf[PEER_GREET];
	struct coll_frame f;
	struct peer_op o;
	struct peer p;
	int st;

	ASSERT_EQ(0, peer_start(&p, false));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_OUT, 1000, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	for (st = 0; st < 2; st++) {
		EXPECT_FALSE(peer_read(&p, st, &f, QUIET)) TH_LOG("type %u", f.type);
		ASSERT_TRUE(peer_write(&p, st, buf, peer_put_hello(&p, st, buf)));
		ASSERT_TRUE(peer_is_proved(&p, &p, st));
		EXPECT_FALSE(peer_read(&p, st, &f, QUIET)) TH_LOG("type %u", f.type);
	}
	/* After a failure the rank sends ABORT to a peer that proves the key, also much later. */
	EXPECT_EQ(0, raw_abort(p.c.fd[0], 5));
	peer_op_wait(&o);
	close(p.c.fd[0]);
	p.c.fd[0] = -1;
	EXPECT_FALSE(peer_read(&p, 0, &f, QUIET)) TH_LOG("type %u", f.type);
	ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_proof(&p, 0, buf)));
	ASSERT_TRUE(peer_read(&p, 0, &f, PATIENT));
	EXPECT_EQ(COLL_FRAME_ABORT, f.type);
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_stop(&p);
}

/*
 * Record what the real rank sends on one stream, until nothing more comes for a while. Bytes up to
 * @least must come, and may be late. Return: bytes.
 */
static size_t record(struct peer *p, int stripe, uint8_t *to, size_t least, size_t most)
{
	struct pollfd pfd = { .fd = p->sock[stripe], .events = POLLIN };
	size_t got = 0;
	ssize_t n;

	while (got < most && poll(&pfd, 1, got < least ? PATIENT : QUIET) == 1) {
		n = recv(pfd.fd, to + got, most - got, MSG_DONTWAIT);
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

/* Is a part of the key among them? Any 8 bytes in a row, forwards or backwards. */
static bool leaks(const uint8_t *key, const uint8_t *bytes, size_t n)
{
	uint8_t back[COLL_KEY_SIZE];
	size_t i, k;

	for (k = 0; k < COLL_KEY_SIZE; k++)
		back[k] = key[COLL_KEY_SIZE - 1 - k];
	for (i = 0; i + 8 <= n; i++)
		for (k = 0; k + 8 <= COLL_KEY_SIZE; k++)
			if (!memcmp(bytes + i, key + k, 8) || !memcmp(bytes + i, back + k, 8))
				return true;
	return false;
}

/*
 * Everything on the wire, from HELLO to the end, with a second communicator: no part of the key
 * is in it.
 */
TEST(key_is_not_sent)
{
	static uint8_t all[2][65536], buf[PEER_BYTES];
	static const struct peer none;
	struct peer p, second;
	const size_t hello = COLL_WIRE_HDR + COLL_WIRE_HELLO;
	size_t n[2] = { 0, 0 };
	struct peer_op o;
	int st, sv[2], pass;

	ASSERT_EQ(0, peer_second(&p, &none));
	for (st = 0; st < 2; st++) {
		ASSERT_EQ(0, raw_tcp_pair(sv));
		ASSERT_EQ(0, raw_link(p.c.fd[0], 1, sv[0], st));
		close(sv[0]);
		p.sock[st] = sv[1];
		n[st] = record(&p, st, all[st], hello, hello);
		ASSERT_EQ(hello, n[st]);
		ASSERT_EQ(0, coll_wire_get_hello(all[st] + COLL_WIRE_HDR, &p.theirs[st]));
		ASSERT_TRUE(peer_write(&p, st, buf, peer_put_greet(&p, st, buf)));
	}
	ASSERT_TRUE(peer_is_believed(&p));
	ASSERT_EQ(0, peer_second(&second, &p));
	ASSERT_EQ(0, raw_share(second.c.fd[0], 1, p.c.fd[0], 1));
	ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_hello(&second, 0, buf)));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_ALLREDUCE, 1000, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	ASSERT_TRUE(peer_write(&p, 1, buf, peer_put_op(&p, &o.cmd, 1, 4096, buf)));
	EXPECT_EQ(0, peer_op_wait(&o));
	for (pass = 0; pass < 2; pass++) {
		for (st = 0; st < 2; st++)
			n[st] += record(&p, st, all[st] + n[st],
					pass ? 0 : PEER_GREET + 1 - n[st],
					sizeof(all[st]) - n[st]);
		if (!pass) {
			peer_leave(&second);
			raw_abort(p.c.fd[0], 1);
		}
	}
	for (st = 0; st < 2; st++) {
		TH_LOG("stream %d: %zu bytes", st, n[st]);
		EXPECT_LT(PEER_GREET, n[st]);
		EXPECT_FALSE(leaks(p.c.key, all[st], n[st])) TH_LOG("stream %d", st);
		EXPECT_FALSE(leaks(second.c.key, all[st], n[st])) TH_LOG("stream %d", st);
	}
	/* leaks() finds a part of the key if there is one. */
	memcpy(all[0] + n[0] - 9, p.c.key + 3, 8);
	EXPECT_TRUE(leaks(p.c.key, all[0], n[0]));
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_stop(&p);
}

TEST_HARNESS_MAIN
