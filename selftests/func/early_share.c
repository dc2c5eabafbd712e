// SPDX-License-Identifier: GPL-2.0
/*
 * A peer offers messages that nobody receives, to one of two communicators of a user, until there
 * is no more memory for them. The other communicator still gets its part.
 */
#include <errno.h>

#include "harness.h"
#include "two.h"

#define STEP	1024U		/* offers of one write */
#define MOST	4000000U	/* offers: more than memory for early frames can hold */

static bool failed(const struct peer *p)
{
	struct coll_status s;

	return raw_status(p->c.fd[0], &s) || s.state == COLL_STATE_FAILED;
}

/* Offer @n messages, or until it has failed. Return: how many were offered. */
static uint32_t offer(struct two *t, struct peer *p, uint32_t n)
{
	static uint8_t buf[STEP * (COLL_WIRE_HDR + COLL_WIRE_RTS)];
	const struct coll_rts r = { .source = 1, .dest = 0, .dtype = COLL_BYTE, .bytes = 1 };
	struct coll_frame f;
	uint32_t i, k;
	size_t len;

	for (i = 0; i < n && !failed(p); ) {
		for (k = 0, len = 0; k < STEP; k++, i++) {
			peer_frame(p, &f, COLL_FRAME_RTS, COLL_WIRE_RTS);
			f.seq = i + 1;
			coll_wire_put_header(buf + len, &f);
			coll_wire_put_rts(buf + len + COLL_WIRE_HDR, &r);
			len += COLL_WIRE_HDR + COLL_WIRE_RTS;
		}
		if (!peer_write(&t->a, 0, buf, len))
			break;
		/* So that little is in the socket when it fails. */
		test_sleep_us(1000 * 100 / test_scale(100));
	}
	/* What is on the way is read within a moment. */
	test_sleep_us(300000);
	return i;
}

TEST(one_takes_all)
{
	struct coll_status s;
	struct two t;
	uint32_t n;

	ASSERT_EQ(0, two_establish(&t));
	n = offer(&t, &t.a, MOST);
	ASSERT_EQ(0, raw_status(t.a.c.fd[0], &s));
	ASSERT_EQ(COLL_STATE_FAILED, s.state);
	EXPECT_EQ(COLL_CAUSE_MEMORY, s.cause.kind);
	EXPECT_FALSE(failed(&t.b));
	two_stop(&t);
	/* Nearly as many. What was in the socket when it failed did not count. */
	n -= n / 8;
	TH_LOG("%u offers", n);
	ASSERT_EQ(0, two_establish(&t));
	offer(&t, &t.a, n);
	EXPECT_FALSE(failed(&t.a));
	offer(&t, &t.b, n / 4);
	EXPECT_FALSE(failed(&t.b));
	EXPECT_FALSE(failed(&t.a));
	two_stop(&t);
}

TEST_HARNESS_MAIN
