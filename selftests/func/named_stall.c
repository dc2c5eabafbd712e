// SPDX-License-Identifier: GPL-2.0
/*
 * Tensors that one rank has posted and the other has not: generic netlink names the tensor, the
 * rank and its state, for new names and for known ones, and says nothing else. The timer does
 * not run while nothing is pending.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/coll_nl.h>

#include "harness.h"
#include "procs.h"
#include "stalls.h"
#include "stops.h"
#include "util.h"

#define WAIT_MS		20000
#define AFTER		"/sys/module/coll/parameters/stall_after"
#define END		"/sys/module/coll/parameters/stall_end"
#define AFTER_MS	1000

/* Rounds that each rank may do. */
static volatile uint32_t *rounds;

static int one_round(int fd, uint32_t rank, uint64_t tag)
{
	struct coll_tensor_result res = { };
	int32_t in = rank + 1, out = 0;
	struct coll_tensor t;
	struct coll_cmd cmd;
	int ret;

	raw_allreduce(&cmd, &in, &out, 1, COLL_I32, COLL_OP_SUM);
	raw_tensor(&t, "fc1.grad", &cmd, tag);
	ret = raw_post(fd, &t, 1, NULL);
	if (ret)
		return ret;
	ret = raw_collect(fd, &res, 1, 1, 0);
	if (ret != 1)
		return ret ? ret : -ENODATA;
	return res.result ? res.result : out == 3 ? 0 : -EILSEQ;
}

static void ops(struct procs *p, uint32_t rank)
{
	struct procs_rank *me = &p->sh->rank[rank];
	int ret = 0;

	while (!p->sh->quit && !ret) {
		if (me->done == rounds[rank]) {
			test_sleep_us(500);
			continue;
		}
		ret = one_round(p->c.fd[rank], rank, me->done);
		me->result = ret;
		me->done += !ret;
	}
	procs_result(p, rank, ret);
}

FIXTURE(stall) {
	struct procs p;
	int events;
};

FIXTURE_SETUP(stall)
{
	self->p = (struct procs){ .ops = ops, .flags = COLL_JOIN_NAMED };
	rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)rounds);
	ASSERT_TRUE(test_put(AFTER, "1"));
	self->events = stalls_open();
	ASSERT_LE(0, self->events);
	ASSERT_EQ(0, procs_start(&self->p, 2, 1));
	ASSERT_TRUE(procs_wait(&self->p, PROCS_JOINED, WAIT_MS));
	self->p.sh->go = 1;
}

FIXTURE_TEARDOWN(stall)
{
	procs_stop(&self->p);
	close(self->events);
	munmap((void *)rounds, 4096);
	test_put(AFTER, "60");
	test_put(END, "0");
}

/* Has each rank done that many rounds? */
static bool have_done(const struct procs *p, uint32_t n)
{
	uint64_t end = test_now_ns() + WAIT_MS * 1000000ULL;

	while (p->sh->rank[0].done < n || p->sh->rank[1].done < n) {
		if (test_now_ns() > end)
			return false;
		test_sleep_us(500);
	}
	return true;
}

static void is_it(struct __test_metadata *_metadata, const struct procs *p,
		  const struct stalls_one *s, uint32_t state, uint32_t known)
{
	EXPECT_STREQ("fc1.grad", s->name);
	EXPECT_EQ(1, s->rank);
	EXPECT_EQ(p->pid[1], s->pid);
	EXPECT_EQ(state, s->state);
	EXPECT_EQ(known, s->known);
}

/* Rank 0 posts, and rank 1 does not: the event comes, and the dump has the same. */
static void stalls(struct __test_metadata *_metadata, struct procs *p, int events,
		   uint32_t state, uint32_t known)
{
	struct stalls_one s;
	uint64_t since = test_now_ns();

	rounds[0]++;
	ASSERT_TRUE(stalls_event(events, &s, AFTER_MS + WAIT_MS)) TH_LOG("no event");
	EXPECT_LE(AFTER_MS * 1000000ULL, s.age_ns);
	EXPECT_FALSE(test_late(since + (AFTER_MS + 1000) * 1000000ULL, test_now_ns()));
	is_it(_metadata, p, &s, state, known);
	EXPECT_EQ(1, stalls_dump(&s, 1));
	EXPECT_LE(AFTER_MS * 1000000ULL, s.age_ns);
	is_it(_metadata, p, &s, state, known);
	EXPECT_FALSE(stalls_event(events, &s, 2 * AFTER_MS)) TH_LOG("reported twice");
}

static void goes_on(struct __test_metadata *_metadata, struct procs *p)
{
	struct stalls_one s;

	rounds[1] = rounds[0];
	EXPECT_TRUE(have_done(p, rounds[0]));
	EXPECT_EQ(0, stalls_dump(&s, 1));
}

static void stopped(struct __test_metadata *_metadata, struct procs *p, int events,
		    uint32_t known)
{
	ASSERT_EQ(0, kill(p->pid[1], SIGSTOP));
	ASSERT_LE(0, stops_wait(p->pid[1]));
	stalls(_metadata, p, events, COLL_NL_STALL_STATE_STOPPED, known);
	kill(p->pid[1], SIGCONT);
	goes_on(_metadata, p);
}

TEST_F(stall, stopped_new_name)
{
	stopped(_metadata, &self->p, self->events, 0);
}

TEST_F(stall, stopped_known_name)
{
	rounds[0] = 1;
	goes_on(_metadata, &self->p);
	stopped(_metadata, &self->p, self->events, 1);
}

TEST_F(stall, running)
{
	stalls(_metadata, &self->p, self->events, COLL_NL_STALL_STATE_RUNNING, 0);
	goes_on(_metadata, &self->p);
}

TEST_F(stall, frozen)
{
	if (!stops_group(self->p.pid[1]))
		SKIP(return, "no cgroup of version 2 that freezes");
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "1"));
	ASSERT_TRUE(stops_frozen());
	stalls(_metadata, &self->p, self->events, COLL_NL_STALL_STATE_FROZEN, 0);
	ASSERT_TRUE(test_put(STOPS_GROUP "/cgroup.freeze", "0"));
	goes_on(_metadata, &self->p);
}

/* A dump shows younger ones as well. */
TEST_F(stall, dump_regardless_of_age)
{
	struct stalls_one s = { };
	uint64_t end = test_now_ns() + WAIT_MS * 1000000ULL;

	ASSERT_TRUE(test_put(AFTER, "0"));
	rounds[0]++;
	while (!stalls_dump(&s, 1) && test_now_ns() < end)
		test_sleep_us(500);
	is_it(_metadata, &self->p, &s, COLL_NL_STALL_STATE_RUNNING, 0);
	EXPECT_FALSE(stalls_event(self->events, &s, 2 * AFTER_MS)) TH_LOG("reports are off");
	goes_on(_metadata, &self->p);
}

/* Nothing is pending: nothing is reported, and the timer stops. */
TEST_F(stall, idle)
{
	struct stalls_one s;
	int64_t looks;
	int i;

	rounds[0] = 50;
	goes_on(_metadata, &self->p);
	/* A timer that was armed for a tensor may still run, late if the machine is busy. */
	for (i = 0; i < 5; i++) {
		looks = stalls_looks();
		EXPECT_FALSE(stalls_event(self->events, &s, 3 * AFTER_MS));
		if (looks > 0 && looks == stalls_looks())
			break;
	}
	EXPECT_GT(5, i);
}

/* With the second threshold the tensor ends, and the communicator goes on. */
TEST_F(stall, ends)
{
	struct procs_rank *k = self->p.sh->rank;
	uint64_t since = test_now_ns();

	ASSERT_TRUE(test_put(END, "2"));
	rounds[0]++;
	while (!k[0].result && test_now_ns() - since < WAIT_MS * 1000000ULL)
		test_sleep_us(500);
	EXPECT_EQ(-ETIMEDOUT, k[0].result);
	EXPECT_LE(2000, (test_now_ns() - since) / 1000000);
	rounds[1]++;
	while (!k[1].result && test_now_ns() - since < 2 * WAIT_MS * 1000000ULL)
		test_sleep_us(500);
	EXPECT_EQ(-ETIMEDOUT, k[1].result);
	EXPECT_EQ(0, k[0].status.cause.error);
}

TEST_HARNESS_MAIN
