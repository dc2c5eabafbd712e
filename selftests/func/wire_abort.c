// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, and sends ABORT. A right one ends the communicator with the cause
 * that it names; a wrong one is a protocol error.
 */
#include <string.h>

#include "wire_ctrl.h"

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
	op_fails(_metadata, &p, 0, buf, n, ESHUTDOWN, "good");
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(0, memcmp(&good, &s.cause, sizeof(good)));
	/* A second ABORT changes nothing. */
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
		op_fails(_metadata, &p, 0, buf, n, EPROTO, bad[i].name);
		peer_stop(&p);
	}
}

TEST_HARNESS_MAIN
