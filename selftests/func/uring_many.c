// SPDX-License-Identifier: GPL-2.0
/*
 * Many collectives in flight in an application's own ring: exactly one CQE each, with the right
 * result behind it.
 */
#include <sys/ioctl.h>

#include "uring.h"

static void many(struct __test_metadata *_metadata, uint32_t size, uint32_t nodes,
		 unsigned int entries, uint64_t count)
{
	struct urank u[8];
	struct raw_comm c;
	unsigned int i, posted;
	uint32_t r;

	ASSERT_EQ(0, raw_start(&c, size, nodes));
	for (r = 0; r < size; r++) {
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, MANY, count, entries, 0));
		for (posted = 0; posted < MANY; ) {
			for (i = 0; i < entries && posted < MANY; i++, posted++)
				ring_prep(io_uring_get_sqe(&u[r].ring), c.fd[r],
					  &u[r].cmds[posted], posted);
			ASSERT_EQ(i, io_uring_submit(&u[r].ring));
		}
	}
	for (r = 0; r < size; r++) {
		EXPECT_TRUE(all_good(&u[r].ring, 0, 1, MANY));
		EXPECT_TRUE(quiet(&u[r].ring));
		EXPECT_EQ(0, urank_wrong(&u[r], size));
	}
	for (r = 0; r < size; r++)
		urank_exit(&u[r]);
	raw_stop(&c);
}

TEST(back_to_back_one_node)	{ many(_metadata, 4, 1, MANY, 1000); }
TEST(back_to_back_nodes)	{ many(_metadata, 4, 2, MANY, 1000); }
TEST(back_to_back_large)	{ many(_metadata, 3, 3, MANY, 50000); }
/* a CQ with room for less than what is in flight */
TEST(small_rings)		{ many(_metadata, 4, 2, 4, 100); }
TEST(single_entry_ring)		{ many(_metadata, 2, 1, 1, 10); }

/* More than the kernel keeps: ENOMEM for those beyond, the others go on. */
TEST(too_many_in_flight)
{
	struct coll_version v;
	struct coll_status s;
	struct urank u[2];
	struct raw_comm c;
	unsigned int i, over = 5, most = RAW_INFLIGHT_FREE + 100;
	uint64_t ud;
	uint32_t r;
	int before = raw_max_inflight(100);

	ASSERT_LT(0, before);
	ASSERT_EQ(0, raw_start(&c, 2, 1));
	ASSERT_EQ(0, ioctl(c.fd[0], COLL_IOC_VERSION, &v));
	ASSERT_EQ(100, v.max_inflight);
	for (r = 0; r < 2; r++)
		ASSERT_TRUE(urank_init(&u[r], c.fd[r], r, most + over, 10, 1024, 0));
	for (i = 0; i < most + over; i++)
		ring_prep(io_uring_get_sqe(&u[0].ring), c.fd[0], &u[0].cmds[i], i);
	ASSERT_EQ(i, io_uring_submit(&u[0].ring));
	for (i = 0; i < over; i++) {
		EXPECT_EQ(-ENOMEM, next_cqe(&u[0].ring, &ud));
		EXPECT_LE(most, ud);
	}
	EXPECT_TRUE(quiet(&u[0].ring));
	ASSERT_EQ(0, raw_status(c.fd[0], &s));
	EXPECT_EQ(most, s.posted);
	EXPECT_EQ(0, s.completed);
	EXPECT_EQ(1, s.late_rank);
	for (i = 0; i < most; i++) {
		ring_prep(io_uring_get_sqe(&u[1].ring), c.fd[1], &u[1].cmds[i], i);
		ASSERT_EQ(1, io_uring_submit(&u[1].ring));
	}
	for (r = 0; r < 2; r++)
		EXPECT_TRUE(all_good(&u[r].ring, 0, 1, most));
	u[0].nr = u[1].nr = most;
	EXPECT_EQ(0, urank_wrong(&u[0], 2));
	EXPECT_EQ(0, urank_wrong(&u[1], 2));
	EXPECT_EQ(0, test_good(&c));
	raw_stop(&c);
	EXPECT_LT(0, raw_max_inflight(before));
}

TEST_HARNESS_MAIN
