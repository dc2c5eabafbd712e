// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node, and sends BYE: right and wrong, before the data of the last op,
 * after the end of the data stream, and before streams that end too early. BYE of the real rank is
 * lost on its way.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire_ctrl.h"

TEST(byes)
{
	uint8_t buf[256];
	struct peer p;
	size_t n;

	/* BYE of a rank that an op waits for */
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 1, 0, buf);
	op_fails(_metadata, &p, 0, buf, n, EHOSTDOWN, "now");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 0, 1, buf);
	op_fails(_metadata, &p, 0, buf, n, EPROTO, "of our own rank");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 2, 1, buf);
	op_fails(_metadata, &p, 0, buf, n, EPROTO, "of no rank");
	peer_stop(&p);
	ASSERT_EQ(0, peer_start(&p, true));
	n = peer_put_bye(&p, 1, 1, buf);
	buf[60] = 1;
	op_fails(_metadata, &p, 0, buf, n, EPROTO, "orders, but numbered collectives");
	peer_stop(&p);
}

/* Two ranks of the peer. One of them leaves twice, and the other one is still there. */
TEST(bye_twice)
{
	uint8_t buf[256];
	struct peer p;
	size_t n;

	ASSERT_EQ(0, peer_start_two(&p));
	n = peer_put_bye(&p, 1, 1, buf);
	n += peer_put_bye(&p, 1, 1, buf + n);
	op_fails(_metadata, &p, 0, buf, n, EPROTO, "of the same rank");
	peer_stop(&p);
}

/* Read @want bytes of the real rank on the data stream, and all there is on the control stream. */
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

/*
 * A rank leaves after op 1. Its BYE and the end of its control stream arrive before the data of
 * op 1. The op still ends well.
 */
TEST(bye_overtakes_data)
{
	static uint8_t buf[8192];
	struct coll_status s;
	struct peer_op o;
	struct peer p;
	size_t n;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, 20 * SECOND));
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
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BARRIER, 0, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&o));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	EXPECT_EQ(1, s.cause.rank);
	peer_op_exit(&o);
	peer_stop(&p);
}

/*
 * A rank leaves after op 1. The end of its data stream overtakes its BYE, as it may in a network
 * that loses or delays packets. Nobody else is hurt by that.
 */
TEST(end_overtakes_bye)
{
	static uint8_t buf[8192];
	struct coll_status s;
	struct peer_op o;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BCAST_IN, 1000, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	ASSERT_TRUE(peer_write(&p, 1, buf, peer_put_op(&p, &o.cmd, 1, 999, buf)));
	EXPECT_EQ(0, peer_op_wait(&o));
	peer_op_exit(&o);
	drain(&p, COLL_WIRE_HDR);
	peer_close(&p, 1, false);
	test_sleep_us(500000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(0, s.cause.error);
	ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_bye(&p, 1, 1, buf)));
	peer_close(&p, 0, false);
	ASSERT_TRUE(peer_has_left(&p));
	ASSERT_TRUE(peer_op_init(&o, &p, PEER_BARRIER, 0, 20 * SECOND));
	ASSERT_TRUE(peer_op_start(&o, &p));
	EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&o));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_CLOSE, s.cause.kind);
	peer_op_exit(&o);
	peer_stop(&p);
}

/*
 * The packet with BYE is lost. Before it is sent again the peer sends a byte. A socket that is closed
 * by then would answer with a RST, and BYE would never come.
 */
TEST(bye_is_lost_once)
{
	uint8_t byte = 0;
	struct coll_frame f;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, true));
	if (system("tc qdisc add dev lo root netem loss 100% 2>/dev/null"))
		SKIP(return, "no netem");
	close(p.c.fd[0]);
	test_sleep_us(50000);
	ASSERT_EQ(0, system("tc qdisc del dev lo root"));
	ASSERT_TRUE(peer_write(&p, 0, &byte, 1));
	/* TCP sends BYE again after longer and longer times, while tc starts. */
	EXPECT_TRUE(peer_read(&p, 0, &f, 30000));
	EXPECT_EQ(COLL_FRAME_BYE, f.type);
	close(p.sock[0]);
	close(p.sock[1]);
}

/* BYE says that the rank takes part in op 1, but it closes its streams before. */
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
			ASSERT_TRUE(peer_op_init(&o, &p, kind, 1000, 20 * SECOND));
			ASSERT_TRUE(peer_op_start(&o, &p));
			EXPECT_EQ(-EHOSTDOWN, peer_op_wait(&o)) {
				TH_LOG("kind %d, hard %d", kind, hard);
			}
			EXPECT_EQ(0, peer_op_exit(&o));
			peer_stop(&p);
		}
	}
}

TEST_HARNESS_MAIN
