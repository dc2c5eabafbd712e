// SPDX-License-Identifier: GPL-2.0
/*
 * A user who has kept a descriptor of a linked socket uses it while an op runs. The op and the
 * communicator end, and no memory outside the buffer is written.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

#define SECOND	1000000000ULL

/* The user reads from the sockets, writes to them and shuts them down. The op must end. */
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
	/* The user takes bytes away, sends some, and shuts both sockets down. */
	recv(sv[1][0], junk, sizeof(junk), MSG_DONTWAIT);
	peer_write(&p, 1, buf, peer_put_op(&p, &o.cmd, 1, 4096, buf));
	recv(sv[1][0], junk, sizeof(junk), MSG_DONTWAIT);
	send(sv[1][0], junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(sv[0][0], SHUT_RDWR);
	shutdown(sv[1][0], SHUT_RDWR);
	peer_op_wait(&o);
	EXPECT_EQ(0, peer_op_exit(&o));
	/* The op may have ended well before the streams ended. */
	EXPECT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	for (st = 0; st < 2; st++)
		close(sv[st][0]);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
