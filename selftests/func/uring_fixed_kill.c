// SPDX-License-Identifier: GPL-2.0
/* A rank is killed while its commands with buffers of its ring are in flight. */
#include <errno.h>
#include <signal.h>

#include "fixed.h"
#include "harness.h"
#include "procs.h"
#include "util.h"

/* Every rank for itself, forever: rank 0 by io_uring. */
static void stream(struct procs *p, uint32_t rank)
{
	const uint64_t n = 250000;
	struct coll_cmd cmd;
	struct fixed f;
	int ret;

	ret = fixed_init(&f, p->c.fd[rank], 8 * n, 0);
	while (!ret) {
		fixed_fill(&f, rank, 0, n);
		raw_allreduce(&f.cmd, f.mem, f.mem + 4 * n, n, COLL_I32, COLL_OP_SUM);
		cmd = f.cmd;
		if (rank)
			ret = raw_submit(p->c.fd[rank], &cmd);
		else
			ret = fixed_post(&f, 0) ?: fixed_result(&f);
		if (!ret)
			p->sh->rank[rank].wrong += fixed_wrong(&f, p->c.size, 4 * n, n);
		p->sh->rank[rank].done += !ret;
	}
	procs_result(p, rank, ret);
}

/* Commands in flight end with the process, and their pages go. The verdict counts them. */
TEST(killed_in_flight)
{
	uint64_t seed = test_seed();
	uint32_t n, r;

	for (n = 0; n < test_scale(20) + 2; n++) {
		struct procs p = { .ops = stream };

		ASSERT_EQ(0, procs_start(&p, 3, 1 + n % 3));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
		p.sh->go = 1;
		ASSERT_TRUE(procs_wait(&p, PROCS_RUNNING, 20000));
		while (!p.sh->rank[0].done && p.sh->rank[1].phase != PROCS_ENDED)
			test_sleep_us(200);
		test_sleep_us(test_below(&seed, 20000));
		ASSERT_EQ(0, kill(p.pid[0], SIGKILL));
		EXPECT_EQ(SIGKILL, procs_reap(&p, 0, 20000));
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, test_bound_ms() + 10000));
		for (r = 0; r < 3; r++)
			EXPECT_EQ(0, p.sh->rank[r].wrong);
		EXPECT_EQ(-EHOSTDOWN, p.sh->rank[1].result);
		EXPECT_EQ(-EHOSTDOWN, p.sh->rank[2].result);
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
