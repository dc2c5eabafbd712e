// SPDX-License-Identifier: GPL-2.0
/* Ranks are stopped at random moments of large ops. */
#include <signal.h>

#include "halt.h"
#include "procs.h"
#include "raw.h"

#define WAIT_MS	20000

/* A communicator that has no stopped rank goes on. Return: how often a rank was stopped. */
static uint32_t anywhere_once(struct __test_metadata *_metadata, uint32_t nodes, uint64_t lots)
{
	struct procs_stream st = {
		.seed = lots, .max_bytes = 16 << 20, .count = 20 + test_scale(60),
	};
	struct procs p = { .ops = procs_ops_stream, .arg = &st };
	struct raw_comm by;
	uint32_t r, i;

	ASSERT_EQ(0, procs_start(&p, 4, nodes));
	ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, WAIT_MS));
	ASSERT_EQ(0, raw_start(&by, 2, 1));
	p.sh->go = 1;
	for (i = 0; i < test_scale(30); i++) {
		uint32_t who = test_below(&lots, 4);

		test_sleep_us(test_below(&lots, 20000));
		if (p.sh->rank[who].phase == PROCS_ENDED)
			break;
		halt(_metadata, p.pid[who]);
		EXPECT_EQ(0, test_good(&by));
		kill(p.pid[who], SIGCONT);
	}
	ASSERT_TRUE(procs_wait(&p, PROCS_ENDED, 2 * WAIT_MS));
	for (r = 0; r < 4; r++) {
		EXPECT_EQ(0, p.sh->rank[r].result);
		EXPECT_EQ(st.count, p.sh->rank[r].done);
		EXPECT_EQ(0, p.sh->rank[r].wrong);
	}
	procs_stop(&p);
	raw_stop(&by);
	return i;
}

/* The stream may be over before the first stop, if this process stands still. */
static void anywhere(struct __test_metadata *_metadata, uint32_t nodes)
{
	uint64_t lots = test_seed();
	uint32_t stops = 0;
	int i;

	for (i = 0; i < 5 && !stops; i++)
		stops = anywhere_once(_metadata, nodes, lots);
	EXPECT_LE(1, stops) TH_LOG("the stream was over too soon");
}

TEST(stopped_anywhere_one_node)		{ anywhere(_metadata, 1); }
TEST(stopped_anywhere_two_nodes)	{ anywhere(_metadata, 2); }

TEST_HARNESS_MAIN
