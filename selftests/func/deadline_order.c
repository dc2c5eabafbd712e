// SPDX-License-Identifier: GPL-2.0
/* An op that has ended completes after the ops before it. Its deadline holds for them, too. */
#include "harness.h"
#include "talk.h"
#include "util.h"

#define MS	1000000ULL
#define TIMEOUT	(1000 * MS)

static struct talk t;
static int32_t in, out;

/* Rank 1 is a leaf: it needs nobody, so its part is over at once. */
static unsigned int gather(uint32_t rank, uint64_t timeout_ns)
{
	struct coll_cmd cmd;

	raw_allreduce(&cmd, &in, NULL, 1, COLL_I32, COLL_OP_SUM);
	cmd.collective = COLL_GATHER;
	cmd.op = 0;
	cmd.algorithm = COLL_ALG_LINEAR;
	cmd.timeout_ns = timeout_ns;
	return talk_post(&t, rank, &cmd);
}

/* A broadcast from rank 2, which does not post it. It has no deadline. */
static unsigned int broadcast(uint32_t rank)
{
	struct coll_cmd cmd;

	raw_broadcast(&cmd, &out, 1, COLL_I32, 2);
	cmd.algorithm = COLL_ALG_LINEAR;
	return talk_post(&t, rank, &cmd);
}

TEST(ended_behind_another_op)
{
	struct coll_status s;
	unsigned int nr[2];
	uint64_t start;
	int64_t before;

	ASSERT_EQ(0, talk_start(&t, 3, 3));
	/* The links are ready after one op. */
	ASSERT_EQ(0, test_good(&t.c));
	before = test_posted(&t.c, 1);
	nr[0] = broadcast(1);
	start = test_now_ns();
	nr[1] = gather(1, TIMEOUT);
	/* The gather has ended, but it completes after the broadcast. */
	EXPECT_EQ(-ETIMEDOUT, talk_result(&t, 1, nr[0]));
	EXPECT_FALSE(test_late(start + TIMEOUT, test_now_ns()));
	EXPECT_GE(test_now_ns() - start, TIMEOUT - 10 * MS);
	EXPECT_EQ(0, talk_result(&t, 1, nr[1]));
	ASSERT_EQ(0, raw_status(t.c.fd[1], &s));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
	EXPECT_EQ(before + 1, s.cause.seq);
	EXPECT_EQ(t.c.node_of[2], s.cause.node);
	talk_stop(&t);
}

TEST_HARNESS_MAIN
