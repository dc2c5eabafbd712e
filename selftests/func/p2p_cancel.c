// SPDX-License-Identifier: GPL-2.0
/*
 * Cancelling messages: one without a partner ends with ECANCELED, and no other rank gets it. One
 * with a partner ends as if it had not been cancelled. Each command completes once.
 */
#include <sys/ioctl.h>

#include "harness.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

static struct talk t;

TEST(receive_taken_back)
{
	int32_t v = 7, o[3] = { };
	unsigned int r[3], s, i;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 3; i++)
			r[i] = talk_recv(&t, last, i == 1 ? COLL_RANK_ANY : 0, 1, &o[i], 4, NULL);
		EXPECT_EQ(0, talk_cancel(&t, last, r[0]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, r[0]));
		EXPECT_EQ(0, talk_cancel(&t, last, r[1]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, r[1]));
		s = talk_send(&t, 0, last, 1, &v, 4);
		EXPECT_EQ(0, talk_result(&t, last, r[2]));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(7, o[2]);
		EXPECT_EQ(0, o[0] | o[1]);
		EXPECT_EQ(-ENOENT, talk_cancel(&t, last, r[2]));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* The message in the middle is cancelled; the others keep their order. */
TEST(send_taken_back)
{
	int32_t v[3] = { 1, 2, 3 }, o[3] = { };
	unsigned int r[3], s[3], i;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 3; i++)
			s[i] = talk_send(&t, 0, last, 1, &v[i], 4);
		/* for every second shape the messages have arrived, else they may be on the way */
		if (sh & 1)
			EXPECT_TRUE(talk_pending(&t, 0, s[1]));
		EXPECT_EQ(0, talk_cancel(&t, 0, s[1]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, 0, s[1]));
		for (i = 0; i < 3; i++)
			r[i] = talk_recv(&t, last, 0, 1, &o[i], 4, NULL);
		EXPECT_EQ(0, talk_result(&t, last, r[0]));
		EXPECT_EQ(0, talk_result(&t, last, r[1]));
		EXPECT_EQ(1, o[0]);
		EXPECT_EQ(3, o[1]);
		EXPECT_TRUE(talk_pending(&t, last, r[2]));
		EXPECT_EQ(0, talk_result(&t, 0, s[0]));
		EXPECT_EQ(0, talk_result(&t, 0, s[2]));
		EXPECT_EQ(0, talk_cancel(&t, last, r[2]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, r[2]));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/*
 * The receive comes at the same time. Whichever is first, both sides agree: it has arrived and
 * both are over, or it is cancelled and the receive still waits.
 */
TEST(send_and_receive_race)
{
	unsigned int s, r, i, n = test_scale(200), cancelled = 0;
	uint64_t lots = test_seed();
	struct coll_cmd cmd;
	int32_t v = 5, o;
	int ret;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < n; i++) {
			if (t.r[0].posted + 2 >= TALK_CMDS || t.r[last].posted + 2 >= TALK_CMDS)
				talk_again(&t);
			o = 0;
			s = talk_send(&t, 0, last, 1, &v, 4);
			test_sleep_us(test_below(&lots, 100));
			r = talk_recv(&t, last, 0, 1, &o, 4, NULL);
			test_sleep_us(test_below(&lots, 2) * test_below(&lots, 30));
			ret = talk_cancel(&t, 0, s);
			EXPECT_TRUE(ret == 0 || ret == -EALREADY || ret == -ENOENT);
			ret = talk_result(&t, 0, s);
			if (!ret) {
				EXPECT_EQ(0, talk_result(&t, last, r));
				EXPECT_EQ(5, o);
				continue;
			}
			cancelled++;
			EXPECT_EQ(-ECANCELED, ret);
			EXPECT_EQ(0, talk_cancel(&t, last, r));
			EXPECT_EQ(-ECANCELED, talk_result(&t, last, r));
			EXPECT_EQ(0, o);
		}
		/* nothing of it is left behind */
		raw_send(&cmd, &v, 1, COLL_I32, last, 1);
		s = talk_post(&t, 0, &cmd);
		r = talk_recv(&t, last, 0, 1, &o, 4, NULL);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
	TH_LOG("%u cancelled", cancelled);
}

/* Refused: to cancel twice, commands that have ended, that send and receive, or do not exist. */
TEST(refused)
{
	struct coll_cancel c = { };
	unsigned int s, r;
	struct coll_cmd cmd;
	int32_t v = 1, o;
	int fd;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_send(&cmd, &v, 1, COLL_I32, last, 1);
		raw_and_recv(&cmd, &o, 1, last, 1, NULL);
		s = talk_post(&t, 0, &cmd);
		EXPECT_EQ(-EINVAL, talk_cancel(&t, 0, s));
		EXPECT_EQ(-ENOENT, raw_cancel(t.c.fd[last], s + 1));
		EXPECT_EQ(-ENOENT, raw_cancel(t.c.fd[0], s + 2));
		EXPECT_EQ(-EINVAL, raw_cancel(t.c.fd[0], 0));
		c.handle = 1;
		c.flags = COLL_CANCEL_RECEIVES;
		EXPECT_TRUE(ioctl(t.c.fd[0], COLL_IOC_CANCEL, &c) == -1 && errno == EINVAL);
		c.flags = 2;
		EXPECT_TRUE(ioctl(t.c.fd[0], COLL_IOC_CANCEL, &c) == -1 && errno == EINVAL);
		c.flags = 0;
		c.reserved = 1;
		EXPECT_TRUE(ioctl(t.c.fd[0], COLL_IOC_CANCEL, &c) == -1 && errno == EINVAL);
		c.reserved = 0;
		c.cancelled = 1;
		EXPECT_TRUE(ioctl(t.c.fd[0], COLL_IOC_CANCEL, &c) == -1 && errno == EINVAL);
		c.cancelled = 0;

		/* the receiving half can be cancelled alone; then the sending half ends well */
		EXPECT_EQ(1, raw_cancel_receives(t.c.fd[0]));
		r = talk_recv(&t, last, 0, 1, &o, 4, NULL);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(-ECANCELED, talk_result(&t, 0, s));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
	fd = raw_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTCONN, raw_cancel(fd, 1));
	close(fd);
}

/* All receives of a rank, and of no other; and the rank can leave. */
TEST(all_receives)
{
	unsigned int i, r = 0, other;
	int32_t o;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 100; i++)
			r = talk_recv(&t, 0, i & 1 ? last : COLL_RANK_ANY, i, &o, 4, NULL);
		other = talk_recv(&t, last, COLL_RANK_ANY, COLL_TAG_ANY, &o, 4, NULL);
		EXPECT_EQ(100, raw_cancel_receives(t.c.fd[0]));
		for (i = 0; i < 100; i++)
			EXPECT_EQ(-ECANCELED, talk_result(&t, 0, r + i - 99));
		EXPECT_EQ(0, raw_cancel_receives(t.c.fd[0]));
		EXPECT_TRUE(talk_pending(&t, last, other));
		EXPECT_EQ(0, test_good(&t.c));
		EXPECT_EQ(1, raw_cancel_receives(t.c.fd[last]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, other));
		close(t.c.fd[0]);
		t.c.fd[0] = -1;
		talk_stop(&t);
	}
}

/* Nobody waits for an answer that will not come. */
TEST(partner_leaves)
{
	unsigned int s;
	int32_t v = 1;
	int ret;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, 0, last, 1, &v, 4);
		EXPECT_TRUE(talk_pending(&t, 0, s));
		close(t.c.fd[last]);
		t.c.fd[last] = -1;
		talk_cancel(&t, 0, s);
		ret = talk_result(&t, 0, s);
		EXPECT_TRUE(ret == -ECANCELED || ret == -EHOSTDOWN) TH_LOG("%d", ret);
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
