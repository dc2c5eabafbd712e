// SPDX-License-Identifier: GPL-2.0
/*
 * A name is posted again while a node has joined: it starts only when this node reports that it has
 * received the start before. The test plays the other node.
 */
#include "named_wire.h"

static const struct coll_tensor join = { .flags = COLL_TENSOR_JOIN };

static void send_joined(struct __test_metadata *_metadata, struct peer *p, uint8_t kind,
			uint32_t serial)
{
	struct coll_coord_rec r = { .kind = kind, .rank = 1, .serial = serial };

	send_record(_metadata, p, &r);
}

/* The next record of the real node. Return: false if none comes within @ms. */
static bool heard(struct peer *p, int ms, struct coll_coord_rec *r)
{
	struct coll_frame f;

	while (peer_read(p, 0, &f, ms))
		if (f.type == COLL_FRAME_TENSOR)
			return coll_coord_get(p->payload, f.length, r) == f.length;
	return false;
}

static void hear(struct __test_metadata *_metadata, struct peer *p, uint8_t kind,
		 struct coll_coord_rec *r)
{
	ASSERT_TRUE(heard(p, 10000, r));
	ASSERT_EQ(kind, r->kind);
}

TEST(a_child_has_joined)
{
	struct coll_coord_rec r, early;
	struct peer p;
	uint32_t round;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	send_joined(_metadata, &p, COLL_JOIN, 0);
	/* In each round the tensor starts, so the name can be posted again. */
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, say_post(&p, SAY_NAME, 0));
		if (round) {
			EXPECT_FALSE(heard(&p, 50, &early));
			send_joined(_metadata, &p, COLL_GOT, r.serial);
		}
		hear(_metadata, &p, COLL_ORDER_START, &r);
		EXPECT_EQ(round, r.round);
		EXPECT_EQ(round + 1, r.serial);
		EXPECT_EQ(1, r.contributors);
	}
	peer_stop(&p);
}

TEST(a_child_joins)
{
	struct coll_coord_rec r, start;
	struct peer p;
	uint32_t round;

	ASSERT_EQ(0, peer_start_named(&p, 1));
	ASSERT_EQ(0, raw_post(p.c.fd[0], &join, 1, NULL));
	hear(_metadata, &p, COLL_JOIN, &r);
	EXPECT_EQ(0, r.serial);
	for (round = 0; round < 5; round++) {
		start = say_record(COLL_ORDER_START, 7, round);
		start.contributors = 1;
		send_record(_metadata, &p, &start);
		hear(_metadata, &p, COLL_GOT, &r);
		EXPECT_EQ(round + 1, r.serial);
	}
	peer_stop(&p);
}

TEST_HARNESS_MAIN
