// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the peer node. The real rank leaves: each message of the peer is answered by CTS
 * before BYE, or by BYE.
 */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire_msg.h"

#define EMPTY		5000
#define WITHDRAWN	20000

static struct coll_rts empty(uint32_t tag)
{
	return (struct coll_rts){ .source = 1, .dest = 0, .tag = tag, .dtype = COLL_BYTE };
}

/* The rank receives an empty message, which the peer has offered. */
static int take(struct peer *p, uint32_t tag)
{
	struct coll_cmd cmd;

	raw_recv(&cmd, frame, 0, COLL_BYTE, COLL_RANK_ANY, tag, NULL);
	cmd.timeout_ns = 10 * SECOND;
	return raw_submit(p->c.fd[0], &cmd);
}

/*
 * Frames of the real rank until BYE: @answers counts those of type CTS. Return: was there a BYE?
 * Frames of other communicators on the same streams do not count.
 */
static bool read_to_bye(struct peer *p, uint32_t *answers)
{
	struct coll_frame f;

	*answers = 0;
	while (peer_read(p, 0, &f, 20000)) {
		if (f.comm != coll_wire_comm(p->name))
			continue;
		if (f.type == COLL_FRAME_BYE)
			return true;
		*answers += f.type == COLL_FRAME_CTS;
	}
	return false;
}

/* Few frames fit into the buffers. */
static void make_narrow(const int sv[2], int stripe)
{
	int size = 1 << 15;

	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(sv[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* The rank takes many messages and leaves, while the peer reads nothing. */
static void answers_come(struct __test_metadata *_metadata, struct peer *p)
{
	uint32_t answers;
	uint64_t i;

	for (i = 1; i <= EMPTY; i++)
		send_rts(p, i, empty(TAG));
	for (i = 1; i <= EMPTY; i++)
		ASSERT_EQ(0, take(p, TAG));
	peer_leave(p);
	test_sleep_us(300000);
	EXPECT_TRUE(read_to_bye(p, &answers));
	EXPECT_EQ(EMPTY, answers);
}

TEST(answers_before_the_end)
{
	struct peer p;

	ASSERT_EQ(0, peer_start_with(&p, make_narrow));
	answers_come(_metadata, &p);
	peer_stop(&p);
}

TEST(answers_before_the_end_of_a_share)
{
	struct peer p, q;

	ASSERT_EQ(0, peer_start_with(&p, make_narrow));
	ASSERT_EQ(0, peer_second(&q, &p));
	ASSERT_EQ(0, raw_share(q.c.fd[0], 1, p.c.fd[0], 1));
	ASSERT_TRUE(peer_second_establish(&q, &p));
	answers_come(_metadata, &q);
	peer_stop(&p);
}

/* The peer has not proved yet on the data stream that it has the key: CTS waits, so does BYE. */
TEST(answer_before_data_is_proven)
{
	uint8_t buf[PEER_GREET];
	struct coll_frame f;
	struct peer p;

	ASSERT_EQ(0, peer_start(&p, false));
	ASSERT_TRUE(peer_write(&p, 0, buf, peer_put_greet(&p, 0, buf)));
	ASSERT_TRUE(peer_is_proved(&p, &p, 0));
	send_rts(&p, 1, empty(TAG));
	ASSERT_EQ(0, take(&p, TAG));
	peer_leave(&p);
	EXPECT_FALSE(peer_read(&p, 0, &f, 200));
	ASSERT_TRUE(peer_write(&p, 1, buf, peer_put_greet(&p, 1, buf)));
	ASSERT_TRUE(peer_read(&p, 0, &f, 20000));
	EXPECT_EQ(COLL_FRAME_CTS, f.type);
	ASSERT_TRUE(peer_read(&p, 0, &f, 20000));
	EXPECT_EQ(COLL_FRAME_BYE, f.type);
	peer_stop(&p);
}

/* Cancel all offers, the newest first: the rank drops the oldest first when it leaves. */
static void *withdraw(void *arg)
{
	struct peer *p = arg;
	uint64_t i;

	for (i = WITHDRAWN; i; i--)
		send_cancel(p, i);
	return NULL;
}

/* The rank leaves while the peer cancels its offers. No CTS comes after BYE. */
TEST(withdrawn_from_a_rank_that_leaves)
{
	struct coll_frame f;
	pthread_t thread;
	uint32_t answers;
	struct peer p;
	uint64_t i;

	ASSERT_EQ(0, peer_start(&p, true));
	for (i = 1; i <= WITHDRAWN; i++)
		send_rts(&p, i, empty(TAG));
	/* The rank has all of them when it has the last one. */
	send_rts(&p, i, empty(TAG + 1));
	ASSERT_EQ(0, take(&p, TAG + 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, withdraw, &p));
	test_sleep_us(1000);
	peer_leave(&p);
	EXPECT_TRUE(read_to_bye(&p, &answers));
	TH_LOG("%u answers before BYE", answers);
	while (peer_read(&p, 0, &f, 5000))
		ASSERT_NE(COLL_FRAME_CTS, f.type);
	pthread_join(thread, NULL);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
