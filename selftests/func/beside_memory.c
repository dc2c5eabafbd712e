// SPDX-License-Identifier: GPL-2.0
/*
 * The bound on kernel memory is for the ops that start beside others. What the first op needs does
 * not count.
 */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "raw.h"
#include "trace.h"
#include "util.h"

#define RANKS	16
#define HERE	(RANKS / 2)
/* An op of so many exact sums needs nearly 4 MiB. 8 MiB is the bound. */
#define COUNT	125000
#define OPS	3

static double in[RANKS][COUNT], out[OPS][RANKS][COUNT];

static bool has_started(unsigned int seq)
{
	FILE *f = fopen(TEST_TRACE, "r");
	char line[256], want[32];
	bool found = false;

	snprintf(want, sizeof(want), " seq=%u ", seq);
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "coll_start: ") && strstr(line, want);
	if (f)
		fclose(f);
	return found;
}

static bool starts(unsigned int seq)
{
	uint64_t end = test_now_ns() + 10000000000ULL;

	while (!has_started(seq) && test_now_ns() < end)
		test_sleep_us(10000);
	return has_started(seq);
}

/* The ranks of the first node post ops. Those of the other node do not, so no op ends. */
TEST(beside_the_first)
{
	struct raw_comm c;
	struct coll_cmd cmd;
	unsigned int i;
	uint32_t r;

	if (!test_trace_start("coll_start"))
		SKIP(return, "no tracepoints");
	ASSERT_EQ(0, raw_start(&c, RANKS, 2));
	for (i = 0; i < OPS; i++)
		for (r = 0; r < HERE; r++) {
			raw_allreduce(&cmd, in[r], out[i][r], COUNT, COLL_F64, COLL_OP_SUM_EXACT);
			cmd.algorithm = COLL_ALG_RECURSIVE_DOUBLING;
			ASSERT_EQ(1, raw_post_cmd(c.fd[r], &cmd, i));
		}
	for (i = 0; i < OPS; i++)
		EXPECT_TRUE(starts(1 + i)) TH_LOG("op %u", 1 + i);
	test_trace_stop("coll_start");
	raw_abort(c.fd[0], 1);
	raw_stop(&c);
}

TEST_HARNESS_MAIN
