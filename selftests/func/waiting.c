// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that are stopped while they wait in COLL_IOC_SUBMIT. They stop at once. An op that they
 * have posted goes on without them, and their call goes on after SIGCONT. A stopped rank can
 * be killed.
 */
#include <errno.h>
#include <signal.h>

#include "halt.h"
#include "waiting.h"

static void stop_and_go(struct __test_metadata *_metadata, uint32_t nodes, uint64_t count)
{
	struct procs p = { };
	int i;

	waiting_begin(_metadata, &p, nodes, count);
	for (i = 0; i < 3; i++) {
		halt(_metadata, p.pid[0]);
		kill(p.pid[0], SIGCONT);
		test_sleep_us(5000);
	}
	waiting_end(_metadata, &p);
}

TEST(stopped_in_a_barrier)	{ stop_and_go(_metadata, 1, 0); }
TEST(stopped_in_a_large_op)	{ stop_and_go(_metadata, 2, WAITING_COUNT); }

/* An op that a stopped rank has posted goes on without it. */
static void posted_goes_on(struct __test_metadata *_metadata, uint32_t nodes)
{
	struct procs p = { };
	unsigned int ms;

	waiting_begin(_metadata, &p, nodes, WAITING_COUNT);
	halt(_metadata, p.pid[0]);
	waiters->post = 1;
	for (ms = 0; ms < WAITING_MS && p.sh->rank[1].phase != PROCS_ENDED; ms++)
		test_sleep_us(1000);
	EXPECT_EQ(PROCS_ENDED, p.sh->rank[1].phase) {
		TH_LOG("HANG: rank 1 waits for one that is stopped");
	}
	EXPECT_NE(PROCS_ENDED, p.sh->rank[0].phase);
	kill(p.pid[0], SIGCONT);
	waiting_end(_metadata, &p);
}

TEST(posted_goes_on_one_node)	{ posted_goes_on(_metadata, 1); }
TEST(posted_goes_on_two_nodes)	{ posted_goes_on(_metadata, 2); }

TEST(killed_while_stopped)
{
	struct procs p = { };
	const struct coll_cause *c;
	uint64_t when;

	waiting_begin(_metadata, &p, 2, 0);
	halt(_metadata, p.pid[0]);
	when = test_now_ns();
	ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
	EXPECT_EQ(SIGKILL, procs_reap(&p, 0, WAITING_MS));
	waiters->post = 1;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, WAITING_MS));
	c = &p.sh->rank[1].status.cause;
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
	EXPECT_FALSE(test_late(when, p.sh->rank[1].when));
	EXPECT_EQ(COLL_CAUSE_EXIT, c->kind);
	EXPECT_EQ(SIGKILL, c->signal);
	EXPECT_EQ(0, c->rank);
	procs_stop(&p);
}

TEST_HARNESS_MAIN
