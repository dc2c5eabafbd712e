// SPDX-License-Identifier: GPL-2.0
/*
 * A rank comes at the very moment of the deadline of another one. Either both are told that it was
 * too late, or both succeed, and then the communicator goes on.
 */
#include <pthread.h>
#include <time.h>

#include "harness.h"
#include "raw.h"
#include "util.h"

#define MS	1000000ULL

#define SEND_MODE	"/sys/module/coll/parameters/send_mode"

#define TIMEOUT		MS
#define LATE_MOST	(2000 * MS)
#define STEP_MOST	(4 * MS)
#define STEP_LEAST	1000ULL

/* Elements of a vector whose pages are lent to another node of this kernel. */
#define LENT		(1U << 18)

static int32_t in[LENT], out[LENT];

/**
 * struct edge_cmds - what a round posts
 * @nodes: number of nodes
 * @waits: rank 0, with the deadline
 * @comes: rank 1
 */
struct edge_cmds {
	uint32_t nodes;
	void (*waits)(struct coll_cmd *cmd);
	void (*comes)(struct coll_cmd *cmd);
};

static void receive(struct coll_cmd *cmd)
{
	raw_recv(cmd, out, 1, COLL_I32, 1, 1, NULL);
}

static void send(struct coll_cmd *cmd)
{
	raw_send(cmd, in, 1, COLL_I32, 0, 1);
}

static void lend(struct coll_cmd *cmd)
{
	raw_broadcast(cmd, in, LENT, COLL_I32, 0);
}

static void borrow(struct coll_cmd *cmd)
{
	raw_broadcast(cmd, out, LENT, COLL_I32, 0);
}

static const struct edge_cmds barriers = { 1, raw_barrier, raw_barrier };
static const struct edge_cmds messages = { 1, receive, send };
static const struct edge_cmds loans = { 2, lend, borrow };

struct comer {
	int fd;
	struct coll_cmd cmd;
	uint64_t at;
	int result;
};

/* Timers expire with the tick: begin with one. Return: now. */
static uint64_t next_tick(void)
{
	struct timespec first, now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &first);
	do
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	while (now.tv_nsec == first.tv_nsec);
	return test_now_ns();
}

static void *come(void *arg)
{
	struct comer *c = arg;

	while (test_now_ns() < c->at)
		;
	c->result = raw_submit(c->fd, &c->cmd);
	return NULL;
}

/* Return: the result of rank 0, who waits TIMEOUT at most for rank 1, who is @late. */
static int one_round(struct raw_comm *c, const struct edge_cmds *e, uint64_t late, int *other)
{
	struct comer r = { .fd = c->fd[1] };
	struct coll_cmd cmd;
	pthread_t thread;
	int ret;

	*other = 0;
	e->waits(&cmd);
	e->comes(&r.cmd);
	cmd.timeout_ns = TIMEOUT;
	r.at = next_tick() + late;
	ret = pthread_create(&thread, NULL, come, &r);
	if (ret)
		return -ret;
	ret = raw_submit(c->fd[0], &cmd);
	pthread_join(thread, NULL);
	*other = r.result;
	return ret;
}

/* The steps get smaller when they pass the moment of the deadline, and larger when they do not. */
static uint64_t next_step(uint64_t step, bool passed)
{
	if (passed)
		return step / 2 > STEP_LEAST ? step / 2 : STEP_LEAST;
	return step * 2 < STEP_MOST ? step * 2 : STEP_MOST;
}

/* Look for the moment of the deadline: later after a success, earlier after a failure. */
static void at_the_edge(struct __test_metadata *_metadata, const struct edge_cmds *e)
{
	unsigned int i, good = 0, rounds = 40 + test_scale(360);
	uint64_t late = TIMEOUT, step = STEP_MOST;
	int ret, last = 0, other;
	struct raw_comm c;

	ASSERT_EQ(0, raw_start(&c, 2, e->nodes));
	for (i = 0; i < rounds; i++) {
		ret = one_round(&c, e, late, &other);
		if (!ret) {
			good++;
			late += step;
			EXPECT_EQ(0, other);
			ASSERT_EQ(0, test_good(&c)) TH_LOG("round %u", i);
		} else {
			late -= step < late ? step : late;
			EXPECT_EQ(-ETIMEDOUT, ret);
			/* Another node may have had all bytes just before. */
			EXPECT_TRUE(other == -ETIMEDOUT || (!other && e->nodes > 1)) {
				TH_LOG("round %u: %d", i, other);
			}
			raw_stop(&c);
			ASSERT_EQ(0, raw_start(&c, 2, e->nodes));
		}
		ASSERT_LT(late, LATE_MOST);
		step = next_step(step, ret != last);
		last = ret;
	}
	TH_LOG("%u of %u in time", good, rounds);
	/* Rank 1 has come before the moment, and after it. */
	EXPECT_GT(good, rounds / 10);
	EXPECT_LT(good, rounds - rounds / 10);
	raw_stop(&c);
}

TEST(collective)
{
	at_the_edge(_metadata, &barriers);
}

TEST(message)
{
	at_the_edge(_metadata, &messages);
}

FIXTURE(spliced)
{
	bool set;
};

FIXTURE_SETUP(spliced)
{
	self->set = test_put(SEND_MODE, "splice");
	if (!self->set)
		SKIP(return, "only root says how large frames go");
}

FIXTURE_TEARDOWN(spliced)
{
	if (self->set)
		test_put(SEND_MODE, "auto");
}

/* The pages are lent: the op of rank 0 ends when rank 1 has given them back. */
TEST_F(spliced, collective)
{
	at_the_edge(_metadata, &loans);
}

TEST_HARNESS_MAIN
