// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel moves things under running ops: pages, by compaction; work, when a CPU goes and
 * comes back. Results are right, nobody is taken for dead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "procs.h"
#include "util.h"

#define LIMIT_NS	30000000000ULL	/* of each collective */

/**
 * struct round - one run of the stream
 * @st: what the ranks do
 * @p: the ranks
 * @times: calls of the disturbance
 * @longest: ns that the longest of them took, with the sleep after it
 */
struct round {
	struct procs_stream st;
	struct procs p;
	unsigned int times;
	uint64_t longest;
};

/*
 * Linux 6.1 reads a null pointer if a CPU goes online while a task makes its first ring: the ring
 * is known to the hotplug code (io_wq_create()) before its parts are there.
 */
static bool all_have_begun(const struct round *r)
{
	uint64_t end = test_now_ns() + LIMIT_NS;
	uint32_t k;

	for (k = 0; k < 4; k++)
		while (!r->p.sh->rank[k].done && !r->p.sh->rank[k].result) {
			if (test_now_ns() > end)
				return false;
			test_sleep_us(1000);
		}
	return true;
}

static void disturb_until_ended(struct __test_metadata *_metadata, struct round *r,
				bool (*disturb)(void))
{
	uint64_t begin, end = test_now_ns() + 50000000000ULL;

	do {
		begin = test_now_ns();
		EXPECT_TRUE(disturb());
		r->times++;
		test_sleep_us(10000);
		if (test_now_ns() - begin > r->longest)
			r->longest = test_now_ns() - begin;
	} while (!procs_wait(&r->p, PROCS_ENDED, 0) && test_now_ns() < end);
}

static void run(struct __test_metadata *_metadata, struct round *r, bool (*disturb)(void))
{
	ASSERT_EQ(0, procs_start(&r->p, 4, 2));
	ASSERT_TRUE(procs_wait(&r->p, PROCS_JOINED, 20000));
	r->p.sh->go = 1;
	ASSERT_TRUE(all_have_begun(r));
	disturb_until_ended(_metadata, r, disturb);
	/* Undisturbed it ends soon. */
	EXPECT_TRUE(procs_wait(&r->p, PROCS_ENDED, 100000));
	TH_LOG("%u times, the longest took %llu ms", r->times,
	       (unsigned long long)r->longest / 1000000);
}

/*
 * Once, a collective took longer than its limit while the disturbance, which uses nothing of coll,
 * stood still as well: the machine or its clock had stopped. Such a round says nothing.
 */
static bool stood_still(const struct round *r)
{
	uint32_t k;

	for (k = 0; k < 4; k++)
		if (r->p.sh->rank[k].result == -ETIMEDOUT)
			return r->longest > LIMIT_NS / 2;
	return false;
}

/* Run random collectives while @disturb is called again and again. */
static void disturbed(struct __test_metadata *_metadata, bool (*disturb)(void), uint32_t uring)
{
	unsigned int tries = 3;
	struct round r;
	uint32_t k;

	do {
		memset(&r, 0, sizeof(r));
		r.st.seed = test_seed();
		r.st.max_bytes = 1 << 20;
		r.st.count = test_scale(400);
		r.st.uring = uring;
		r.st.timeout_ns = LIMIT_NS;
		r.p.ops = procs_ops_stream;
		r.p.arg = &r.st;
		run(_metadata, &r, disturb);
		if (!stood_still(&r))
			break;
		procs_stop(&r.p);
	} while (--tries);
	ASSERT_NE(0, tries) TH_LOG("stood still each time");
	for (k = 0; k < 4; k++) {
		EXPECT_EQ(0, r.p.sh->rank[k].result) TH_LOG("rank %u", k);
		EXPECT_EQ(0, r.p.sh->rank[k].wrong) TH_LOG("rank %u", k);
		EXPECT_EQ(r.st.count, r.p.sh->rank[k].done) TH_LOG("rank %u", k);
	}
	procs_stop(&r.p);
}

/*
 * If a process runs on another CPU, user-mode Linux unmaps a page from it only when the process
 * enters the kernel: what it writes until then to a page that is being moved is lost. Four
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
