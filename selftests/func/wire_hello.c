// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, and sends a wrong HELLO, a second one, or another frame first. The
 * communicator fails with a protocol error.
 */
#include "wire_ctrl.h"

/*
 * Changes of one byte in HELLO. Its payload begins at offset 56. The PROOF that follows is that
 * of the correct HELLO.
 */
static const struct {
	const char *name;
	int at;
	int value;	/* -1: any other value than the correct one */
} bad_hellos[] = {
	{ "magic", 0, 1 }, { "old", 4, COLL_WIRE_VERSION - 1 },
	{ "version", 4, COLL_WIRE_VERSION + 1 }, { "type", 5, 7 }, { "flags", 6, 1 },
	{ "comm", 8, -1 }, { "epoch", 16, 1 }, { "transfer", 20, 1 },
	{ "seq", 24, 1 }, { "offset", 32, 1 }, { "length", 40, 63 },
	{ "longer", 40, 65 }, { "crc", 44, 1 }, { "signature", 48, 1 },
	{ "name", 56, -1 }, { "end of the name", 71, -1 }, { "nonce", 72, -1 },
	{ "end of the nonce", 87, -1 }, { "size", 88, 3 },
	{ "nr_nodes", 92, 1 }, { "src", 96, 0 }, { "src beyond", 96, 2 },
	{ "dst", 100, 1 }, { "stripe", 104, 5 }, { "wire_min", 108, COLL_WIRE_VERSION + 1 },
	{ "wire_max", 112, COLL_WIRE_VERSION - 1 }, { "map", 116, -1 },
	{ "end of the map", 119, -1 },
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
			op_fails(_metadata, &p, st, buf, n, EPROTO, bad_hellos[i].name);
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
		op_fails(_metadata, &p, st, buf, n, EPROTO, "twice");
		peer_stop(&p);
		ASSERT_EQ(0, peer_start(&p, false));
		n = peer_put_op(&p, &barrier, 1, 4096, buf);
		op_fails(_metadata, &p, st, buf, n, EPROTO, "data first");
		peer_stop(&p);
		ASSERT_EQ(0, peer_start(&p, false));
		n = peer_put_abort(&p, &cause, buf);
		op_fails(_metadata, &p, st, buf, n, EPROTO, "abort first");
		peer_stop(&p);
		ASSERT_EQ(0, peer_start(&p, false));
		n = peer_put_bye(&p, 1, 0, buf);
		op_fails(_metadata, &p, st, buf, n, EPROTO, "bye first");
		peer_stop(&p);
	}
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_op(&p, &barrier, 1, 4096, buf);
	op_fails(_metadata, &p, 0, buf, n, EPROTO, "data on control");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_abort(&p, &cause, buf);
	op_fails(_metadata, &p, 1, buf, n, EPROTO, "abort on data");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 1, 0, buf);
	op_fails(_metadata, &p, 1, buf, n, EPROTO, "bye on data");
	peer_stop(&p);
}

/* Ranks that were told of other nodes than the others would make other schedules. */
static void differ(struct __test_metadata *_metadata, const uint32_t *other, uint32_t flags)
{
	static const uint32_t node_of[] = { 0, 1, 1, 1, 2 };
	struct raw_comm c, d;
	struct coll_status s;
	int a, b, sv[2];

	raw_plan(&c, 5, 3);
	memcpy(c.node_of, node_of, sizeof(node_of));
	d = c;
	memcpy(d.node_of, other, sizeof(node_of));
	d.flags = flags;
	a = raw_open();
	b = raw_open();
	ASSERT_EQ(0, raw_join(a, &c, 0));
	ASSERT_EQ(0, raw_join(b, &d, 1));
	ASSERT_EQ(0, raw_tcp_pair(sv));
	ASSERT_EQ(0, raw_link(a, 1, sv[0], 0));
	ASSERT_EQ(0, raw_link(b, 0, sv[1], 0));
	close(sv[0]);
	close(sv[1]);
	ASSERT_EQ(0, raw_tcp_pair(sv));
	/* It may have failed by now. */
	raw_link(a, 1, sv[0], 1);
	raw_link(b, 0, sv[1], 1);
	close(sv[0]);
	close(sv[1]);
	ASSERT_EQ(0, raw_status_failed(a, &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	close(a);
	close(b);
}

TEST(other_nodes)
{
	static const uint32_t other[] = { 0, 1, 1, 2, 1 };

	differ(_metadata, other, 0);
}

TEST(named_or_not)
{
	static const uint32_t same[] = { 0, 1, 1, 1, 2 };

	differ(_metadata, same, COLL_JOIN_NAMED);
}

TEST_HARNESS_MAIN
