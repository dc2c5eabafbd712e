// SPDX-License-Identifier: GPL-2.0
/*
 * Nonblocking collectives run in a thread of the process that posts them, so that the control
 * group of this process pays for their CPU time.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"

/* Put this process, and the ranks that it forks, into a new control group. */
static bool enter_group(char *stat, size_t len)
{
	char dir[64], procs[96];
	FILE *f;

	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/coll-%d", getpid());
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	snprintf(stat, len, "%s/cpu.stat", dir);
	if (mkdir(dir, 0755))
		return false;
	f = fopen(procs, "w");
	if (!f)
		return false;
	fputs("0\n", f);
	return !fclose(f);
}

static void leave_group(void)
{
	char dir[64];
	FILE *f = fopen("/sys/fs/cgroup/cgroup.procs", "w");

	if (f) {
		fputs("0\n", f);
		fclose(f);
	}
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/coll-%d", getpid());
	rmdir(dir);
}

/* Over TCP: the thread sends, receives and reduces. */
TEST(its_group_pays)
{
	uint64_t tick_us = 1000000 / sysconf(_SC_CLK_TCK);
	struct procs p = { };
	char stat[96];

	if (!has_threads())
		SKIP(return, "this kernel gives us no threads of the process");
	ASSERT_TRUE(enter_group(stat, sizeof(stat)));
	p.arg = stat;
	begin(_metadata, &p, 2, test_scale(50 * WARM));
	/* The thread has used CPU time, and its control group has paid for that. */
	EXPECT_GE(scene->ticks, 5);
	EXPECT_GE(scene->paid, (scene->ticks - 1) * tick_us / 2) {
		TH_LOG("%llu ticks, the group has paid %llu us",
		       (unsigned long long)scene->ticks, (unsigned long long)scene->paid);
	}
	scene->post = 1;
	end_well(_metadata, &p);
	leave_group();
}

TEST_HARNESS_MAIN
