// SPDX-License-Identifier: GPL-2.0
/*
 * A peer offers messages that nobody receives, to one of two communicators of a user, until there
 * is no more memory for them. The other communicator still gets its part.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include "two.h"

#define STEP	1024U		/* offers of one write */
#define MOST	4000000U	/* offers: more than memory for early frames can hold */

static bool failed(const struct peer *p)
{
	struct coll_status s;

	return raw_status(p->c.fd[0], &s) || s.state == COLL_STATE_FAILED;
}

/* The rank's end of the control stream. */
static int ours;

static void keep_ours(const int sv[2], int stripe)
{
	if (!stripe)
		ours = dup(sv[0]);
}

/* As two_establish(), but keep our own end of the control stream. Return: 0 or -errno. */
static int start(struct two *t)
{
	int ret = peer_start_with(&t->a, keep_ours);

	if (!ret)
		ret = peer_second(&t->b, &t->a);
	if (!ret)
		ret = two_attach(t);
	return !ret && !peer_second_establish(&t->b, &t->a) ? -EPROTO : ret;
}

static void stop(struct two *t)
{
	close(ours);
	two_stop(t);
}

/* Wait until the rank has read all, or has failed, for 20 seconds at most. */
static void all_is_read(const struct two *t, const struct peer *p)
{
	uint64_t until = test_now_ns() + 20 * TWO_SECOND;
	int sent = 1, there = 1;

	while (!failed(p) && test_now_ns() < until) {
		if (ioctl(t->a.sock[0], SIOCOUTQ, &sent) || ioctl(ours, FIONREAD, &there) ||
		    (!sent && !there))
			break;
		test_sleep_us(200);
	}
}

/* Offer @n messages, or until the communicator fails. Return: how many were offered. */
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
		/* So that the socket holds little when the communicator fails. */
		all_is_read(t, p);
	}
	return i;
}

TEST(one_takes_all)
{
	struct coll_status s;
	struct two t;
	uint32_t n;

	ASSERT_EQ(0, start(&t));
	n = offer(&t, &t.a, MOST);
	ASSERT_EQ(0, raw_status(t.a.c.fd[0], &s));
	ASSERT_EQ(COLL_STATE_FAILED, s.state);
	EXPECT_EQ(COLL_CAUSE_MEMORY, s.cause.kind);
	EXPECT_FALSE(failed(&t.b));
	/* @a is still open. If its offers still counted, @b would have room for half as many. */
	test_sleep_us(500000);
	offer(&t, &t.b, n - n / 4);
	EXPECT_FALSE(failed(&t.b));
	stop(&t);
	/* Fewer by an eighth: offers that the socket held at the failure had taken no memory. */
	n -= n / 8;
	TH_LOG("%u offers", n);
	ASSERT_EQ(0, start(&t));
	offer(&t, &t.a, n);
	EXPECT_FALSE(failed(&t.a));
	offer(&t, &t.b, n / 4);
	EXPECT_FALSE(failed(&t.b));
	EXPECT_FALSE(failed(&t.a));
	stop(&t);
}

TEST_HARNESS_MAIN
