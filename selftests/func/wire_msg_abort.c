// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, with two links. It has failed because a rank left. Its ABORT on link
 * 1 is read before the RTS on link 0 that it has sent earlier.
 */
#include <unistd.h>

#include "wire_msg.h"

/* Link 1 of @p: @q has its sockets. */
static int add_link(struct peer *q, const struct peer *p)
{
	uint8_t buf[PEER_GREET];
	int s, sv[2], ret = 0;

	*q = *p;
	for (s = 0; !ret && s < 2; s++) {
		q->mine[s].stripe = 2 + s;
		ret = raw_tcp_pair(sv);
		if (ret)
			break;
		q->sock[s] = sv[1];
		ret = raw_link(q->c.fd[0], PEER_RANK, sv[0], 2 + s);
		close(sv[0]);
	}
	for (s = 0; !ret && s < 2; s++)
		if (!peer_hear(q, q, s) || !peer_write(q, s, buf, peer_put_greet(q, s, buf)) ||
		    !peer_is_proved(q, q, s))
			ret = -EPROTO;
	return ret;
}

static int take(struct peer *p, uint32_t source)
{
	struct coll_cmd cmd;

	raw_recv(&cmd, frame, COUNT, COLL_BYTE, source, TAG, NULL);
	cmd.timeout_ns = 10 * SECOND;
	return raw_submit(p->c.fd[0], &cmd);
}

TEST(offer_overtaken_by_abort)
{
	struct coll_cause cause = {
		.kind = COLL_CAUSE_CLOSE, .error = EHOSTDOWN, .rank = 1, .node = 1, .seq = 2,
	};
	struct coll_status s;
	struct peer p, q;
	struct peer_op o;
	uint8_t buf[256];

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_EQ(0, add_link(&q, &p));
	/* Op 1 goes on: the communicator has not failed yet. */
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BARRIER, 0, 10 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	while (test_posted(&p.c, 0) != 1)
		test_sleep_us(200);
	ASSERT_TRUE(peer_write(&q, 0, buf, peer_put_abort(&q, &cause, buf)));
	test_sleep_us(100000);
	send_rts(&p, 1, offer);
	send_rts(&p, 2, offer);
	test_sleep_us(100000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_NONE, s.cause.kind);
	ASSERT_TRUE(peer_write(&p, 1, buf, peer_put_op(&p, &o.cmd, 1, 4096, buf)));
	EXPECT_EQ(0, peer_op_wait(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	/* The offers are dropped. A receive fails with the cause of the node. */
	EXPECT_EQ(-EHOSTDOWN, take(&p, 1));
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
	peer_close(&q, 0, false);
	peer_close(&q, 1, false);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
