// SPDX-License-Identifier: GPL-2.0
/* Waits for completions end: by a completion, their time, or a signal. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "post.h"

TEST_F(post, polled)
{
	struct pollfd p = { .fd = c.fd[1], .events = POLLIN };
	int32_t v = 1, o = 0;

	ASSERT_EQ(1, post_recv(1, 0, 0, &o, 4, NULL));
	EXPECT_EQ(0, poll(&p, 1, 20));
	ASSERT_EQ(1, post_send(0, 1, 0, &v, 4));
	EXPECT_EQ(1, poll(&p, 1, 10000));
	EXPECT_EQ(POLLIN, p.revents);
	EXPECT_EQ(0, post_result(c.fd[1], 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
}

static void nothing(int sig)
{
	(void)sig;
}

/* Somebody who interrupts the main thread until it is told to stop. */
static pthread_t main_thread;
static volatile bool quiet;

static void *interrupt(void *arg)
{
	(void)arg;
	while (!quiet) {
		test_sleep_us(30000);
		pthread_kill(main_thread, SIGUSR1);
	}
	return NULL;
}

static int start_interrupting(pthread_t *t, int flags)
{
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = flags };

	sigaction(SIGUSR1, &sa, NULL);
	main_thread = pthread_self();
	quiet = false;
	return pthread_create(t, NULL, interrupt, NULL);
}

static void stop_interrupting(pthread_t t)
{
	quiet = true;
	pthread_join(t, NULL);
}

/* A wait ends in time, also if signals restart the call. Other signals end it. */
TEST_F(post, waits)
{
	struct coll_completion got[2];
	int32_t v = 1, o[2] = { };
	pthread_t t;
	uint64_t begin;
	uint32_t i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post_recv(1, 0, i, &o[i], 4, NULL));
	begin = test_now_ns();
	EXPECT_EQ(0, raw_collect_cmds(c.fd[1], got, 2, 1, 200 * MS));
	EXPECT_LE(200 * MS, test_now_ns() - begin);
	EXPECT_EQ(0, raw_collect_cmds(c.fd[1], got, 2, 1, 0));

	ASSERT_EQ(0, start_interrupting(&t, SA_RESTART));
	begin = test_now_ns();
	EXPECT_EQ(0, raw_collect_cmds(c.fd[1], got, 2, 1, 300 * MS));
	EXPECT_LE(300 * MS, test_now_ns() - begin);
	EXPECT_FALSE(test_late(begin + 300 * MS, test_now_ns()));
	stop_interrupting(t);

	ASSERT_EQ(0, start_interrupting(&t, 0));
	EXPECT_EQ(-EINTR, raw_collect_cmds(c.fd[1], got, 2, 1, COLL_COLLECT_FOREVER));
	/* a wait for more returns what there is when a signal or the time ends it */
	ASSERT_EQ(1, post_send(0, 1, 1, &v, 4));
	while ((i = raw_collect_cmds(c.fd[1], got, 2, 2, 10000 * MS)) == (uint32_t)-EINTR)
		;
	stop_interrupting(t);
	EXPECT_EQ(1, i);
	EXPECT_TRUE(got[0].tag == 1 && !got[0].result);
	ASSERT_EQ(1, post_send(0, 1, 0, &v, 4));
	EXPECT_EQ(0, post_result(c.fd[1], 0));
}

TEST_HARNESS_MAIN
