// SPDX-License-Identifier: GPL-2.0
/* Probes that wait: for a message, for their deadline, and while signal handlers run. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "harness.h"
#include "probes.h"
#include "shapes.h"
#include "util.h"

#define MS	1000000ULL
/* Probes that wait for one message: more than three times COLL_MSG_SLICE of the module. */
#define CROWD	200

static struct talk t;

/* Probes that wait: all of them see what comes, one matched probe takes it. */
TEST(waiting)
{
	struct coll_message got[4], took[2];
	unsigned int p[4], m[2], s[2], i;
	int32_t v[2] = { 1, 2 }, o = 0;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++)
			p[i] = probe_post(&t, last, COLL_PROBE, i & 1 ? 0 : COLL_RANK_ANY,
				     i & 2 ? 3 : COLL_TAG_ANY, &got[i]);
		EXPECT_TRUE(talk_pending(&t, last, p[3]));
		s[0] = talk_send(&t, 0, last, 3, &v[0], 4);
		for (i = 0; i < 4; i++) {
			EXPECT_EQ(0, talk_result(&t, last, p[i]));
			EXPECT_TRUE(!got[i].source && got[i].tag == 3 && got[i].bytes == 4);
		}
		EXPECT_EQ(0, talk_result(&t, last, talk_recv(&t, last, 0, 3, &o, 4, NULL)));
		EXPECT_EQ(1, o);

		/* two that take, and a third one that sees nothing */
		for (i = 0; i < 2; i++)
			m[i] = probe_post(&t, last, COLL_MPROBE, COLL_RANK_ANY, 3 + i, &took[i]);
		p[0] = probe_post(&t, last, COLL_PROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got[0]);
		s[1] = talk_send(&t, 0, last, 4, &v[1], 4);
		EXPECT_EQ(0, talk_result(&t, last, m[1]));
		EXPECT_TRUE(talk_pending(&t, last, m[0]));
		EXPECT_TRUE(talk_pending(&t, last, p[0]));
		EXPECT_EQ(0, probe_receive(&t, last, took[1].id, &o, 4, NULL));
		EXPECT_EQ(2, o);
		for (i = 0; i < 2; i++)
			EXPECT_EQ(0, talk_result(&t, 0, s[i]));
		EXPECT_EQ(0, talk_cancel(&t, last, m[0]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, m[0]));
		EXPECT_EQ(1, raw_cancel_receives(t.c.fd[last]));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, p[0]));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* More probes than are completed at once: all see the one message, before it is received. */
TEST(many_wait)
{
	struct coll_message got[CROWD], late;
	unsigned int p[CROWD], after, s, i;
	int32_t v = 9, o = 0;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < CROWD; i++)
			p[i] = probe_post(&t, last, COLL_PROBE, i & 1 ? 0 : COLL_RANK_ANY,
				     i & 2 ? 3 : COLL_TAG_ANY, &got[i]);
		s = talk_send(&t, 0, last, 3, &v, 4);
		/* it is there: an offer takes its time from one node to another */
		ASSERT_EQ(0, talk_result(&t, last, p[0]));
		EXPECT_EQ(0, talk_result(&t, last, talk_recv(&t, last, 0, 3, &o, 4, NULL)));
		after = probe_post(&t, last, COLL_PROBE, 0, 3, &late);
		for (i = 0; i < CROWD; i++) {
			ASSERT_EQ(0, talk_result(&t, last, p[i])) TH_LOG("%u", i);
			ASSERT_TRUE(!got[i].source && got[i].tag == 3 && got[i].bytes == 4);
		}
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(9, o);
		EXPECT_TRUE(talk_pending(&t, last, after));
		EXPECT_EQ(0, talk_cancel(&t, last, after));
		EXPECT_EQ(-ECANCELED, talk_result(&t, last, after));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* As with a receive, the communicator fails, and the cause names the rank that did not send. */
TEST(deadline)
{
	struct coll_message got;
	struct coll_status s;
	struct coll_cmd cmd;
	uint64_t begin, now;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		raw_probe(&cmd, sh & 1 ? COLL_PROBE : COLL_MPROBE, last, 1, &got);
		cmd.timeout_ns = 100 * MS;
		begin = test_now_ns();
		EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
		now = test_now_ns();
		EXPECT_LE(99 * MS, now - begin);
		EXPECT_FALSE(test_late(begin + 100 * MS, now));
		ASSERT_EQ(0, raw_status(t.c.fd[0], &s));
		EXPECT_EQ(COLL_CAUSE_TIMEOUT, s.cause.kind);
		EXPECT_EQ(last, s.cause.rank);
		EXPECT_EQ(-ETIMEDOUT, probe_now(&t, 0, COLL_PROBE, last, 1, &got));
		talk_stop(&t);
	}
}

static volatile unsigned int handled;

/* Signals that come before the last one has been handled count once: wait for a second at most. */
static void *wake_up_often(void *arg)
{
	pthread_t to = *(pthread_t *)arg;
	unsigned int i, k, before;

	for (i = 0; i < 50; i++) {
		test_sleep_us(1000);
		before = handled;
		pthread_kill(to, SIGUSR1);
		for (k = 0; k < 1000 && handled == before; k++)
			test_sleep_us(1000);
	}
	return NULL;
}

static void count_signal(int sig)
{
	handled++;
}

/* Signal handlers run while a probe waits, and its deadline does not begin anew. */
TEST(interrupted)
{
	struct sigaction sa = { .sa_handler = count_signal };
	pthread_t self_ = pthread_self(), th;
	struct coll_message got;
	struct coll_cmd cmd;
	uint64_t begin;

	sigaction(SIGUSR1, &sa, NULL);
	ASSERT_EQ(0, talk_start(&t, 2, 2));
	ASSERT_EQ(0, pthread_create(&th, NULL, wake_up_often, &self_));
	raw_probe(&cmd, COLL_MPROBE, 1, 1, &got);
	cmd.timeout_ns = 200 * MS;
	begin = test_now_ns();
	EXPECT_EQ(-ETIMEDOUT, raw_submit(t.c.fd[0], &cmd));
	EXPECT_FALSE(test_late(begin + 200 * MS, test_now_ns()));
	pthread_join(th, NULL);
	EXPECT_LE(10, handled);
	talk_stop(&t);
}

TEST_HARNESS_MAIN
