// SPDX-License-Identifier: GPL-2.0
/*
 * A process is killed while its progress thread works. The other rank gets an error, whose cause
 * names the signal.
 */
#include <signal.h>

#include "progress.h"

static void while_killed(struct __test_metadata *_metadata, uint32_t nodes)
{
	const struct coll_cause *cause;
	struct procs p = { };

	begin(_metadata, &p, nodes, WARM);
	test_sleep_us(20000);
	ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
	EXPECT_EQ(SIGKILL, procs_reap(&p, 0, WAIT_MS));
	scene->post = 1;
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, WAIT_MS));
	cause = &p.sh->rank[1].status.cause;
	EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
	EXPECT_EQ(COLL_CAUSE_EXIT, cause->kind);
	EXPECT_EQ(0, cause->rank);
	/* The cause has the signal of the process; the exit status of the thread is 0. */
	EXPECT_EQ(SIGKILL, cause->signal);
	procs_stop(&p);
}

TEST(killed_one_node)	{ while_killed(_metadata, 1); }
TEST(killed_two_nodes)	{ while_killed(_metadata, 2); }

TEST_HARNESS_MAIN
