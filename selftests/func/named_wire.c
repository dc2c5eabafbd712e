// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays the other node of a communicator with named collectives: the child of the real
 * node in the tree, or its parent. Its records are right.
 */
#include <errno.h>
#include <string.h>

#include "named_wire.h"

static void play_barrier(struct __test_metadata *_metadata, struct peer *p, uint64_t seq)
{
	struct coll_tensor_result res;
	uint8_t buf[4096];
	struct coll_cmd cmd;

	raw_barrier(&cmd);
	ASSERT_TRUE(peer_write(p, 1, buf, peer_put_op(p, &cmd, seq, 4096, buf)));
	EXPECT_EQ(0, say_result(p, &res));
	EXPECT_EQ(SAY_TAG, res.tag);
}

TEST(a_child_that_is_right)
{
	struct coll_coord_rec r, got;
	uint32_t round;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
		r = say_record(COLL_READY, !round ? 0 : got.id, round);
		if (round) {
			r.name_len = 0;
			r.has_params = false;
		}
		send_record(_metadata, &p, &r);
		ASSERT_TRUE(say_hear(&p, &got));
		EXPECT_EQ(COLL_ORDER_START, got.kind);
		EXPECT_EQ(round, got.round);
		EXPECT_EQ(2, got.contributors);
		EXPECT_NE(0, got.id);
		/* Parameters are sent in the first round only. */
		EXPECT_EQ(!round, got.has_params);
		EXPECT_EQ(round ? 0 : strlen(SAY_NAME), got.name_len);
		play_barrier(_metadata, &p, round + 1);
	}
	peer_stop(&p);
}

TEST(a_parent_that_is_right)
{
	struct coll_coord_rec r, got;
	uint32_t round;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
		ASSERT_TRUE(say_hear(&p, &got));
		EXPECT_EQ(COLL_READY, got.kind);
		EXPECT_EQ(round, got.round);
		EXPECT_EQ(1, got.contributors);
		EXPECT_EQ(1, got.rank);
		EXPECT_EQ(round ? 77 : 0, got.id);
		EXPECT_EQ(!round, got.has_params);
		r = say_record(COLL_ORDER_START, 77, round);
		if (round) {
			r.name_len = 0;
			r.has_params = false;
		}
		send_record(_metadata, &p, &r);
		play_barrier(_metadata, &p, round + 1);
	}
	peer_stop(&p);
}

/* The parent ends a name with an error before the child posts it. The next post gets this error. */
TEST(bad_of_a_name_that_is_new)
{
	struct coll_coord_rec r = say_record(COLL_ORDER_BAD, 3, 0);
	struct coll_tensor_result res;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	r.has_params = false;
	r.bad = (struct coll_coord_bad){
		.cause = COLL_BAD_MISMATCH, .field = COLL_FIELD_ROOT,
		.rank = { 0, 1 }, .value = { 4, 5 },
	};
	send_record(_metadata, &p, &r);
	test_sleep_us(100000);
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
	EXPECT_EQ(-EBADE, say_result(&p, &res));
	EXPECT_EQ(COLL_BAD_MISMATCH, res.cause);
	EXPECT_EQ(COLL_FIELD_ROOT, res.field);
	EXPECT_EQ(1, res.rank[1]);
	EXPECT_EQ(4, res.value[0]);
	EXPECT_EQ(5, res.value[1]);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
