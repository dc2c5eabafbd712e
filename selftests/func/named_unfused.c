// SPDX-License-Identifier: GPL-2.0
/*
 * A parent begins a fusion and never names its last tensor. What has been gathered counts as in
 * flight, and the communicator fails after 5 s.
 */
#include <errno.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "say.h"
#include "stalls.h"

#define SECOND	1000000000ULL

/* One tensor has been gathered, of a fusion of more. Return: 0 or -errno. */
static int begin(struct peer *p)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 7, 0), got;
	static float in[9], out[9];
	struct coll_tensor t;
	struct coll_cmd cmd;
	int ret = peer_start_named(p, 1);

	if (ret)
		return ret;
	raw_allreduce(&cmd, in, out, 9, COLL_F32, COLL_OP_SUM);
	raw_tensor(&t, SAY_NAME, &cmd, SAY_TAG);
	ret = raw_post(p->c.fd[0], &t, 1, NULL);
	if (ret)
		return ret;
	if (!say_hear(p, &got) || got.kind != COLL_READY)
		return -EPROTO;
	say_sum(&r, 9);
	r.last = false;
	return say_one(p, &r) ? 0 : -EPIPE;
}

TEST(the_rest_never_comes)
{
	struct coll_tensor_result res;
	struct coll_status s;
	uint64_t since;
	struct peer p;

	ASSERT_EQ(0, begin(&p));
	since = test_now_ns();
	EXPECT_EQ(-ETIMEDOUT, say_result(&p, &res));
	EXPECT_LE(4 * SECOND, test_now_ns() - since);
	EXPECT_FALSE(test_late(since + 5 * SECOND, test_now_ns()));
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
	peer_stop(&p);
}

/* The rank closes meanwhile: it leaves in the middle of an op, and the other node is told. */
TEST(the_rank_goes)
{
	struct coll_frame f;
	struct peer p;
	int i;

	ASSERT_LE(0, stalls_open());
	ASSERT_EQ(0, begin(&p));
	for (i = 0; i < 1000 && stalls_count(COLL_NL_GROUP_FUSED) < 1; i++)
		test_sleep_us(10000);
	close(p.c.fd[0]);
	p.c.fd[0] = -1;
	ASSERT_TRUE(peer_read_ctrl(&p, 0, &f, 10000));
	EXPECT_EQ(COLL_FRAME_ABORT, f.type);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
