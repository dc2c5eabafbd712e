// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node. It sends a frame or closes a stream at the moment when the real
 * rank leaves.
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

/* Does the stream end at the peer? Then the node of the real rank has released its socket. */
static bool stream_ended(struct peer *p, int stripe)
{
	struct pollfd pfd = { .fd = p->sock[stripe], .events = POLLIN };
	char junk[1024];

	while (poll(&pfd, 1, 50 * test_bound_ms()) == 1)
		if (recv(pfd.fd, junk, sizeof(junk), MSG_DONTWAIT) <= 0)
			return true;
	return false;
}

/*
 * The peer sends a frame or closes a stream; the real rank may have left before.
 * @said: the error that the frame must cause; 0: none, -1: any or none
 * @cut: it has closed a stream
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
 * A rank that stays gets the error. The sockets of a rank that leaves are released, whatever the
 * peer sends meanwhile.
 */
TEST(all_at_once)
{
	uint64_t lots = test_seed();
	unsigned int i, st, ends = 0;
	struct coll_status s;
	char dead[16] = "";
	struct peer p;
	bool cut;
	int said;

	/* After a data stream has ended alone, a BYE may still come for dead_after seconds. */
	ASSERT_TRUE(test_get(TEST_DEAD_AFTER, dead, sizeof(dead)));
	ASSERT_TRUE(test_put(TEST_DEAD_AFTER, "2"));
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
	test_put(TEST_DEAD_AFTER, dead);
}

TEST_HARNESS_MAIN
