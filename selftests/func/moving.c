// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel moves things under running ops: pages, by compaction; work, when a CPU goes and
 * comes back. Results are right, nobody is taken for dead.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

/* Run random collectives while @disturb is called again and again. */
static void disturbed(struct __test_metadata *_metadata, bool (*disturb)(void), uint32_t uring)
{
	struct procs_stream st = {
		.seed = test_seed(), .max_bytes = 1 << 20, .count = test_scale(400),
		.uring = uring, .timeout_ns = 30000000000ULL,
	};
	struct procs p = { .ops = procs_ops_stream, .arg = &st };
	unsigned int times = 0;
	uint64_t end;
	uint32_t r;

	ASSERT_EQ(0, procs_start(&p, 4, 2));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 20000));
	p.sh->go = 1;
	end = test_now_ns() + 50000000000ULL;
	do {
		EXPECT_TRUE(disturb());
		times++;
		test_sleep_us(10000);
	} while (!procs_wait(&p, PROCS_ENDED, 0) && test_now_ns() < end);
	/* Undisturbed it ends soon. */
	EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, 100000));
	for (r = 0; r < 4; r++) {
		EXPECT_EQ(0, p.sh->rank[r].result) TH_LOG("rank %u", r);
		EXPECT_EQ(0, p.sh->rank[r].wrong) TH_LOG("rank %u", r);
		EXPECT_EQ(st.count, p.sh->rank[r].done) TH_LOG("rank %u", r);
	}
	TH_LOG("%u times", times);
	procs_stop(&p);
}

/*
 * User-mode Linux unmaps a page from a process that runs on another CPU only when that comes
 * back to the kernel: what it writes meanwhile to a page that is being moved is lost. Four
 * processes that write and read back their own memory, without coll, show it.
 */
static bool loses_writes(void)
{
	char line[256] = "";
	FILE *f = fopen("/proc/cpuinfo", "r");
	bool uml = false;

	while (f && !uml && fgets(line, sizeof(line), f))
		uml = strstr(line, "User Mode Linux");
	if (f)
		fclose(f);
	return uml;
}

static bool compact(void)
{
	return test_put("/proc/sys/vm/compact_memory", "1");
}

TEST(compaction)
{
	if (access("/proc/sys/vm/compact_memory", W_OK))
		SKIP(return, "no compaction");
	if (loses_writes())
		SKIP(return, "user-mode Linux loses writes to pages that it moves");
	disturbed(_metadata, compact, 0);
}

#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static bool hotplug(void)
{
	bool good = test_put(ONLINE, "0");

	test_sleep_us(20000);
	return test_put(ONLINE, "1") && good;
}

TEST(cpu_hotplug)
{
	if (access(ONLINE, W_OK))
		SKIP(return, "no CPU that can be switched off");
	disturbed(_metadata, hotplug, 0);
	disturbed(_metadata, hotplug, 4);
}

TEST_HARNESS_MAIN
