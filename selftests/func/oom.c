// SPDX-License-Identifier: GPL-2.0
/* A rank is killed because its control group is out of memory: as any that is killed. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define GROUP	"/sys/fs/cgroup/coll-oom"
#define LIMIT	"33554432"
#define VICTIM	1

/* The victim takes memory beside its ops, in the group, until it dies of it. */
static void ops(struct procs *p, uint32_t rank)
{
	struct coll_cmd cmd;
	size_t step = 1 << 20;
	int ret = 0;

	if (rank == VICTIM && !test_put(GROUP "/cgroup.procs", "0"))
		procs_result(p, rank, -ENODEV);
	while (!ret) {
		if (rank == VICTIM) {
			char *m = mmap(NULL, step, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			if (m == MAP_FAILED)
				break;
		}
		raw_barrier(&cmd);
		cmd.timeout_ns = 20000000000ULL;
		ret = raw_submit(p->c.fd[rank], &cmd);
		procs_result(p, rank, ret);
	}
}

TEST(killed_for_memory)
{
	struct procs p = { .ops = ops };
	int status;
	uint32_t r;

	test_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0755) || !test_put(GROUP "/memory.max", LIMIT)) {
		rmdir(GROUP);
		SKIP(return, "no control groups for memory");
	}
	test_put(GROUP "/memory.swap.max", "0");
	ASSERT_EQ(0, procs_start(&p, 3, 2));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	status = procs_reap(&p, VICTIM, 40000);
	ASSERT_NE(-1, status);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ASSERT_TRUE(procs_wait(&p, PROCS_ENDED, 20000));
	for (r = 0; r < 3; r++) {
		struct procs_rank *k = &p.sh->rank[r];

		if (r == VICTIM)
			continue;
		EXPECT_EQ(-EHOSTDOWN, k->result) TH_LOG("rank %u", r);
		EXPECT_EQ(COLL_CAUSE_EXIT, k->status.cause.kind);
		EXPECT_EQ(VICTIM, k->status.cause.rank);
		EXPECT_EQ(SIGKILL, k->status.cause.signal);
	}
	procs_stop(&p);
	EXPECT_TRUE(test_remove_group(GROUP));
	test_put("/sys/fs/cgroup/cgroup.subtree_control", "-memory");
}

TEST_HARNESS_MAIN
