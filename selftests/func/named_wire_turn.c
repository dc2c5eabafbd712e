// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays a node that sends records which are right by themselves, but at the wrong moment,
 * on the wrong stream, or without end.
 */
#include <errno.h>
#include <stdio.h>

#include "named_wire.h"

/* READY twice, orders before READY, records on the wrong stream or in a numbered communicator */
TEST(out_of_turn)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	struct coll_tensor_result res;
	struct coll_status s;
	struct say t;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	send_record(_metadata, &p, &r);
	send_record(_metadata, &p, &r);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);

	ASSERT_EQ(0, peer_start_named(&p, 1));
	r = say_record(COLL_ORDER_START, 7, 0);
	send_record(_metadata, &p, &r);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);

	/* A record on the data stream, which is read when an op wants data. */
	ASSERT_EQ(0, peer_start_named(&p, 0));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 20 * SECOND));
	r = say_record(COLL_READY, 0, 0);
	send_record(_metadata, &p, &r);
	say_begin(&t);
	say_add(&t, &r);
	ASSERT_TRUE(say_send(&t, &p, 1));
	EXPECT_EQ(-EPROTO, say_result(&p, &res));
	peer_stop(&p);

	/* A record in a communicator whose collectives are numbered. */
	ASSERT_EQ(0, peer_start(&p, true));
	send_record(_metadata, &p, &r);
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_PROTO, s.cause.kind);
	peer_stop(&p);
}

/* A peer that sends new names without end. */
TEST(names_without_end)
{
	struct coll_coord_rec r = say_record(COLL_READY, 0, 0);
	struct coll_status s;
	char name[32];
	uint32_t i, k;
	struct say t;
	struct peer p;

	ASSERT_EQ(0, peer_start_named(&p, 0));
	for (i = 0; i < 70000; ) {
		say_begin(&t);
		for (k = 0; k < 4; k++, i++) {
			r.name_len = snprintf(name, sizeof(name), "n%u", i);
			r.name = (const u8 *)name;
			say_add(&t, &r);
		}
		if (!say_send(&t, &p, 0))
			break;
	}
	ASSERT_EQ(0, raw_status_failed(p.c.fd[0], &s));
	EXPECT_EQ(COLL_CAUSE_MEMORY, s.cause.kind);
	EXPECT_EQ(ENOSPC, s.cause.error);
	peer_stop(&p);
}

TEST_HARNESS_MAIN
