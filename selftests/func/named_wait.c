// SPDX-License-Identifier: GPL-2.0
/*
 * COLL_IOC_TENSOR_WAIT: when it waits, how long, and the order of the results. Also: a
 * communicator has either named or numbered collectives, and refuses the others.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "named_pair.h"
#include "util.h"

TEST(numbers_and_names_do_not_mix)
{
	struct coll_tensor_result res;
	struct coll_cmd barrier;
	struct pair p;

	raw_barrier(&barrier);
	ASSERT_EQ(0, pair_start(&p, 1));
	EXPECT_EQ(-EOPNOTSUPP, raw_submit(p.c.fd[0], &barrier));
	expect_sum(_metadata, &p, "name");
	raw_stop(&p.c);
	ASSERT_EQ(0, raw_start(&p.c, 2, 1));
	pair_make(&p, "name", 3);
	EXPECT_EQ(-EOPNOTSUPP, raw_post(p.c.fd[0], &p.t[0], 1, NULL));
	EXPECT_EQ(-EOPNOTSUPP, raw_collect(p.c.fd[0], &res, 1, 0, 0));
	raw_stop(&p.c);
	/* All ranks of a node must join with the same flags. */
	raw_plan(&p.c, 2, 1);
	p.c.fd[0] = raw_open();
	p.c.fd[1] = raw_open();
	EXPECT_EQ(0, raw_join(p.c.fd[0], &p.c, 0));
	p.c.flags = COLL_JOIN_NAMED;
	EXPECT_EQ(-EINVAL, raw_join(p.c.fd[1], &p.c, 1));
	raw_stop(&p.c);
	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSORS);
}

TEST(waiting)
{
	struct coll_tensor_result res[2];
	uint64_t when;
	struct pair p;

	ASSERT_EQ(0, pair_start(&p, 1));
	/* Nothing is posted, so the call does not wait. */
	EXPECT_EQ(0, raw_collect(p.c.fd[0], res, 2, 2, 0));
	pair_make(&p, "x", 3);
	ASSERT_EQ(0, raw_post(p.c.fd[0], &p.t[0], 1, NULL));
	when = test_now_ns();
	EXPECT_EQ(0, raw_collect(p.c.fd[0], res, 2, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, raw_collect(p.c.fd[0], res, 2, 1, 30 * MS));
	EXPECT_GE(test_now_ns(), when + 30 * MS);
	ASSERT_EQ(0, raw_post(p.c.fd[1], &p.t[1], 1, NULL));
	/* The call asks for two results, but only one tensor is pending. */
	EXPECT_EQ(1, raw_collect(p.c.fd[0], res, 2, 2, 0));
	EXPECT_EQ(1, raw_collect(p.c.fd[1], res, 2, 1, 0));
	raw_stop(&p.c);
}

static void nothing(int sig)
{
	(void)sig;
}

/* Signals that restart the call do not make it longer. */
TEST(signals)
{
	struct itimerspec often = {
		.it_value.tv_nsec = 20 * MS, .it_interval.tv_nsec = 20 * MS,
	};
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct coll_tensor_result res;
	uint64_t when;
	struct pair p;
	timer_t timer;

	sigaction(SIGUSR1, &sa, NULL);
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	ASSERT_EQ(0, pair_start(&p, 1));
	pair_make(&p, "x", 3);
	ASSERT_EQ(0, raw_post(p.c.fd[0], &p.t[0], 1, NULL));
	ASSERT_EQ(0, timer_settime(timer, 0, &often, NULL));
	when = test_now_ns();
	EXPECT_EQ(-ETIMEDOUT, raw_collect(p.c.fd[0], &res, 1, 1, 300 * MS));
	EXPECT_GE(test_now_ns(), when + 300 * MS);
	EXPECT_FALSE(test_late(when + 300 * MS, test_now_ns()));
	timer_delete(timer);
	raw_stop(&p.c);
}

#define MANY	2000
#define ROUNDS	1000

/* Post all in as many calls as it takes. Return: calls, or -errno. */
static int post_rest(int fd, const struct coll_tensor *t, uint32_t nr)
{
	uint32_t done = 0, posted;
	int calls = 0, ret;

	while (done < nr) {
		ret = raw_post(fd, t + done, nr - done, &posted);
		if (ret)
			return ret;
		done += posted;
		calls++;
	}
	return calls;
}

/* A signal ends a call that posts many, and the rest can be posted. */
TEST(signals_of_posts)
{
	struct itimerspec often = { .it_value.tv_nsec = MS, .it_interval.tv_nsec = MS };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	static struct coll_tensor t[MANY];
	static char names[MANY][8];
	struct coll_cmd cmd;
	struct pair p;
	timer_t timer;
	int calls = 0;
	uint32_t k, i;

	sigaction(SIGUSR1, &sa, NULL);
	raw_barrier(&cmd);
	for (k = 0; k < MANY; k++) {
		snprintf(names[k], sizeof(names[k]), "s%u", k);
		raw_tensor(&t[k], names[k], &cmd, k);
	}
	ASSERT_EQ(0, pair_start(&p, 1));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	for (i = 0; i < ROUNDS && calls < 2; i++) {
		ASSERT_EQ(0, timer_settime(timer, 0, &often, NULL));
		calls = post_rest(p.c.fd[0], t, MANY);
		timer_settime(timer, 0, &(struct itimerspec){ }, NULL);
		ASSERT_LT(0, calls);
		ASSERT_LT(0, post_rest(p.c.fd[1], t, MANY));
		ASSERT_EQ(0, raw_collect_all(&p.c, MANY));
	}
	EXPECT_LE(2, calls);
	timer_delete(timer);
	raw_stop(&p.c);
}

#define URGENT	20

TEST(priority)
{
	struct coll_tensor t[2][URGENT];
	struct coll_tensor_result res[URGENT];
	char names[URGENT][8];
	struct coll_cmd cmd;
	uint32_t r, k;
	struct pair p;

	raw_barrier(&cmd);
	ASSERT_EQ(0, pair_start(&p, 1));
	for (k = 0; k < URGENT; k++) {
		snprintf(names[k], sizeof(names[k]), "p%u", k);
		for (r = 0; r < 2; r++) {
			raw_tensor(&t[r][k], names[k], &cmd, k);
			t[r][k].priority = k / 2;
		}
	}
	for (r = 0; r < 2; r++)
		ASSERT_EQ(0, raw_post(p.c.fd[r], t[r], URGENT, NULL));
	ASSERT_EQ(URGENT, raw_collect(p.c.fd[1], res, URGENT, URGENT, 20 * SECOND));
	/* Higher priority first; order of posting where the priority is the same. */
	for (k = 0; k < URGENT; k++)
		EXPECT_EQ((URGENT - 1 - k) / 2 * 2 + k % 2, res[k].tag);
	raw_stop(&p.c);
}

TEST_HARNESS_MAIN
