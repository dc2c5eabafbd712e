// SPDX-License-Identifier: GPL-2.0
/*
 * Ops of one communicator side by side: a stream breaks off, or the communicator is aborted.
 */
#include <stdio.h>
#include <sys/socket.h>

#include "beside.h"

/* The data stream ends in the middle of the second op. */
TEST(breaks_off)
{
	struct burst b;

	ASSERT_TRUE(burst_start(&b));
	ASSERT_TRUE(burst_post(&b, PEER_BARRIER, 0));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_TRUE(burst_answer(&b, 1));
	EXPECT_EQ(0, peer_op_wait(&b.op[0]));
	ASSERT_EQ(1, burst_read(&b, 10000));
	peer_close(&b.p, 1, true);
	burst_all_end(_metadata, &b, 1, EHOSTDOWN, COLL_CAUSE_LINK, 2);
}

TEST(aborted)
{
	struct burst b;
	unsigned int i;

	ASSERT_TRUE(burst_start(&b));
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(burst_post(&b, PEER_BCAST_IN, BURST_COUNT));
	ASSERT_EQ(1, burst_read(&b, 10000));
	ASSERT_EQ(0, raw_abort(b.p.c.fd[0], 7));
	burst_all_end(_metadata, &b, 0, ESHUTDOWN, COLL_CAUSE_ABORT, b.nr);
}

static bool send_mode(const char *mode)
{
	FILE *f = fopen("/sys/module/coll/parameters/send_mode", "w");

	return f && fputs(mode, f) >= 0 && !fclose(f);
}

/* Abort at any moment while the real rank sends as much as there is room for. */
static void abort_while_sending(struct __test_metadata *_metadata, const char *mode)
{
	uint64_t lots = test_seed();
	unsigned int i, n, left;
	struct burst b;
	int ret;

	if (!send_mode(mode))
		SKIP(return, "only root says how large frames go");
	for (n = 0; n < test_scale(20); n++) {
		ASSERT_TRUE(burst_start(&b));
		for (i = 0; i < 8; i++)
			ASSERT_TRUE(burst_post(&b, PEER_BCAST_OUT, BURST_BYTES / 8 / 4));
		for (i = 1; i <= 8; i++)
			ASSERT_TRUE(burst_answer(&b, i));
		for (left = test_rand(&lots) % 40; left; left--)
			burst_read(&b, 5);
		ASSERT_EQ(0, raw_abort(b.p.c.fd[0], 7));
		/* the peer sends no ABORT: the end of its stream gives back what is lent */
		peer_close(&b.p, 1, true);
		for (i = 0; i < 8; i++) {
			ret = peer_op_wait(&b.op[i]);
			EXPECT_TRUE(!ret || ret == -ESHUTDOWN) TH_LOG("op %u: %d", i + 1, ret);
		}
		EXPECT_EQ(0, burst_stop(&b));
	}
	EXPECT_TRUE(send_mode("auto"));
}

TEST(aborted_while_copying)	{ abort_while_sending(_metadata, "copy"); }
TEST(aborted_while_splicing)	{ abort_while_sending(_metadata, "splice"); }
TEST(aborted_with_ubufs)	{ abort_while_sending(_metadata, "ubuf"); }

TEST_HARNESS_MAIN
