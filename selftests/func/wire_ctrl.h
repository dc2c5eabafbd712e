/* SPDX-License-Identifier: GPL-2.0 */
/* An op that has to fail when the peer, which the test plays, sends something. */
#ifndef WIRE_CTRL_H
#define WIRE_CTRL_H

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL

/* An op waits. The peer sends @bytes on @stripe. The op must end with @error at once. */
static inline void op_fails(struct __test_metadata *_metadata, struct peer *p, int stripe,
			    const void *bytes, size_t n, int error, const char *name)
{
	struct coll_status s;
	struct peer_op o;
	uint64_t when;

	ASSERT_TRUE(peer_op_init(&o, p, PEER_BCAST_IN, 1000, 20 * SECOND));
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

#endif /* WIRE_CTRL_H */
