// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives over several links between two nodes. Vectors are cut into parts, down to single
 * elements. All results are right.
 */
#include "procs.h"
#include "stripes.h"

/* Parts of many elements, of one element, and of none */
TEST(counts_and_shapes)
{
	static const struct { uint32_t size, nodes; } shapes[] = {
		{ 2, 2 }, { 3, 3 }, { 5, 3 }, { 4, 2 },
	};
	static const uint64_t counts[] = {
		0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 64, 1000, COUNT, 100003,
	};
	static const uint32_t links[] = { 2, 3, 8 };
	struct raw_comm c;
	uint32_t i, k, m;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		ASSERT_EQ(0, raw_start_links(&c, shapes[i].size, shapes[i].nodes, 8));
		for (k = 0; k < 3; k++) {
			/* A part may be as small as one element. */
			ASSERT_EQ(0, raw_stripes(&c, links[k], 4));
			for (m = 0; m < sizeof(counts) / sizeof(counts[0]); m++)
				EXPECT_EQ(0, sum(&c, counts[m]))
					TH_LOG("%u ranks, %u nodes, %u links, %llu",
					       shapes[i].size, shapes[i].nodes, links[k],
					       (unsigned long long)counts[m]);
		}
		raw_stop(&c);
	}
}

/* Random collectives of processes, from one element to several blocks of scratch memory. */
TEST(streams)
{
	struct procs_stream s = {
		.seed = test_seed(), .max_bytes = 1 << 20, .count = test_scale(150),
		.timeout_ns = 60 * SECOND,
	};
	static const struct { uint32_t size, nodes, links, uring; } cases[] = {
		{ 2, 2, 8, 0 }, { 4, 2, 2, 4 }, { 4, 4, 3, 0 },
	};
	uint32_t i, r;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct procs p = {
			.ops = procs_ops_stream, .arg = &s, .links = cases[i].links,
			.least = 4096,
		};

		s.uring = cases[i].uring;
		ASSERT_EQ(0, procs_start(&p, cases[i].size, cases[i].nodes));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 10000));
		p.sh->go = 1;
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, 120000));
		for (r = 0; r < cases[i].size; r++) {
			EXPECT_EQ(0, p.sh->rank[r].result);
			EXPECT_EQ(0, p.sh->rank[r].wrong);
			EXPECT_EQ(s.count, p.sh->rank[r].done);
		}
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
