// SPDX-License-Identifier: GPL-2.0
/*
 * A parent that lies starts tensors without end on a node whose ranks have all joined. No rank
 * has posted them, so nothing else bounds the memory that their stand-ins take.
 */
#include <errno.h>
#include <stdio.h>

#include "harness.h"
#include "say.h"

#define HONEST	64	/* any root may have so many in flight */
#define MANY	1000

static bool starts(struct peer *p, uint32_t from, uint32_t to)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_START, 0, 0);
	char name[16];

	say_sum(&r, 9);
	r.contributors = 1;
	for (r.id = from + 1; r.id <= to; r.id++) {
		snprintf(name, sizeof(name), "n%u", r.id);
		say_rename(&r, name);
		if (!say_one(p, &r))
			return false;
	}
	return true;
}

TEST(tensors_without_end)
{
	const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };
	struct coll_tensor_result res;
	struct coll_status s;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, raw_post(p.c.fd[0], &join, 1, NULL));
	ASSERT_TRUE(starts(&p, 0, HONEST));
	test_sleep_us(100000);
	ASSERT_EQ(0, raw_status(p.c.fd[0], &s));
	EXPECT_NE(COLL_STATE_FAILED, s.state);
	starts(&p, HONEST, MANY);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MISMATCH, s.cause.kind);
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	peer_stop(&p);
}

TEST_HARNESS_MAIN
