// SPDX-License-Identifier: GPL-2.0
/*
 * A stream of one of several links breaks, or a rank is killed. The communicator fails, and all
 * other ranks learn the cause.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "procs.h"
#include "stripes.h"

/*
 * A broken stream of any link ends the communicator, also if the link is not used: the control
 * stream at once, the data stream when no BYE has come for dead_after seconds.
 */
TEST(lost)
{
	struct coll_status s;
	char dead[16] = "";
	struct raw_comm c;
	uint32_t stripe;
	int sv[2];

	ASSERT_TRUE(test_get(TEST_DEAD_AFTER, dead, sizeof(dead)));
	ASSERT_TRUE(test_put(TEST_DEAD_AFTER, "2"));
	for (stripe = 2; stripe < 8; stripe++) {
		ASSERT_EQ(0, raw_start_links(&c, 2, 2, stripe / 2));
		ASSERT_EQ(0, raw_tcp_pair(sv));
		EXPECT_EQ(0, raw_link(c.fd[0], 1, sv[0], stripe));
		EXPECT_EQ(0, raw_link(c.fd[1], 0, sv[1], stripe));
		EXPECT_EQ(0, sum(&c, COUNT));
		shutdown(sv[0], SHUT_RDWR);
		ASSERT_EQ(0, raw_status_failed(c.fd[1], &s));
		EXPECT_EQ(EHOSTDOWN, s.cause.error) TH_LOG("stripe %u", stripe);
		EXPECT_EQ(-EHOSTDOWN, sum(&c, 1));
		close(sv[0]);
		close(sv[1]);
		raw_stop(&c);
	}
	test_put(TEST_DEAD_AFTER, dead);
}


/* A rank is killed while parts are in flight. */
TEST(killed)
{
	struct procs_stream s = {
		.seed = test_seed(), .max_bytes = 4 << 20, .timeout_ns = 60 * SECOND,
	};
	uint64_t lots = s.seed, begin;
	uint32_t i, r;

	for (i = 0; i < test_scale(20); i++) {
		struct procs p = {
			.ops = procs_ops_stream, .arg = &s, .links = 1 + i % 8,
			.least = 1024,
		};

		s.uring = i % 2 * 4;
		ASSERT_EQ(0, procs_start(&p, 4, 2 + i % 3));
		ASSERT_TRUE(procs_wait(&p, PROCS_JOINED, 10000));
		p.sh->go = 1;
		test_sleep_us(test_below(&lots, 60000));
		begin = test_now_ns();
		kill(p.pid[1], SIGKILL);
		ASSERT_NE(-1, procs_reap(&p, 1, 10000));
		EXPECT_TRUE(procs_wait(&p, PROCS_ENDED, test_bound_ms() + 10000));
		for (r = 0; r < 4; r++) {
			const struct procs_rank *k = &p.sh->rank[r];

			if (r == 1)
				continue;
			EXPECT_EQ(-EHOSTDOWN, k->result);
			EXPECT_EQ(0, k->wrong);
			EXPECT_EQ(1, k->status.cause.rank);
			EXPECT_FALSE(test_late(procs_asked_after(k, begin), k->when))
				TH_LOG("round %u, rank %u", i, r);
		}
		procs_stop(&p);
	}
}

TEST_HARNESS_MAIN
