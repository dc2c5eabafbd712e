// SPDX-License-Identifier: GPL-2.0
/* A rank is killed because its control group is out of memory. Others hear of it as of any kill. */
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

static void died(struct __test_metadata *_metadata, struct procs *p)
{
	uint32_t r;
	int status = procs_reap(p, VICTIM, 40000);

	ASSERT_NE(-1, status);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ASSERT_TRUE(procs_wait(p, PROCS_ENDED, 20000));
	for (r = 0; r < 3; r++) {
		struct procs_rank *k = &p->sh->rank[r];

		if (r == VICTIM)
			continue;
		EXPECT_EQ(-EHOSTDOWN, k->result) TH_LOG("rank %u", r);
		EXPECT_EQ(COLL_CAUSE_EXIT, k->status.cause.kind);
		EXPECT_EQ(VICTIM, k->status.cause.rank);
		EXPECT_EQ(SIGKILL, k->status.cause.signal);
	}
}

/*
 * All ranks are in the group, and so is the memory that the kernel takes for them. The victim comes
 * last, and its own thread starts the op: it may be killed for memory of the kernel. Its death is
 * the cause then, too, not the lack of memory.
 */
static void ops_of_all(struct procs *p, uint32_t rank)
{
	uint64_t most = 65536, seed = 77, count;
	int32_t *v = malloc(most * sizeof(*v));
	size_t step = 4096;
	struct coll_cmd cmd;
	int ret = v ? 0 : -ENOMEM;

	test_put("/proc/self/oom_score_adj", rank == VICTIM ? "1000" : "-999");
	while (!ret) {
		if (rank == VICTIM) {
			char *m = mmap(NULL, step, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			if (m == MAP_FAILED)
				break;
			test_sleep_us(100);
		}
		/* Another vector each time, so another plan, and other pages to be pinned. */
		count = 1 + test_below(&seed, (uint32_t)most);
		raw_allreduce(&cmd, NULL, v, count, COLL_I32, COLL_OP_SUM);
		cmd.timeout_ns = 20000000000ULL;
		ret = raw_submit(p->c.fd[rank], &cmd);
		procs_result(p, rank, ret);
	}
}

static bool make_group(void)
{
	test_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0755) || !test_put(GROUP "/memory.max", LIMIT)) {
		rmdir(GROUP);
		return false;
	}
	test_put(GROUP "/memory.swap.max", "0");
	return true;
}

static bool remove_group(void)
{
	bool removed = test_remove_group(GROUP);

	test_put("/sys/fs/cgroup/cgroup.subtree_control", "-memory");
	return removed;
}

TEST(killed_for_memory)
{
	struct procs p = { .ops = ops };

	if (!make_group())
		SKIP(return, "no control groups for memory");
	ASSERT_EQ(0, procs_start(&p, 3, 2));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	died(_metadata, &p);
	procs_stop(&p);
	EXPECT_TRUE(remove_group());
}

TEST(killed_for_memory_of_the_kernel)
{
	struct procs p = { .ops = ops_of_all };

	if (!make_group())
		SKIP(return, "no control groups for memory");
	/* Ranks are forked in the group. */
	test_put("/proc/self/oom_score_adj", "-1000");
	ASSERT_TRUE(test_put(GROUP "/cgroup.procs", "0"));
	ASSERT_EQ(0, procs_start(&p, 3, 1));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	died(_metadata, &p);
	procs_stop(&p);
	ASSERT_TRUE(test_put("/sys/fs/cgroup/cgroup.procs", "0"));
	EXPECT_TRUE(remove_group());
}

TEST_HARNESS_MAIN
