// SPDX-License-Identifier: GPL-2.0
/*
 * A peer sends more DATA than its window allows, for a communicator whose rank has gone while its
 * link lingers. This communicator cannot fail any more. The bytes must not be kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "two.h"
#include "util.h"

#define FRAME	65536U
#define FRAMES	1024U		/* 64 MiB, 16 times the window */
#define MOST	(24UL << 10)	/* KiB that the kernel may take meanwhile */

/* Return: the KiB that the kernel has taken meanwhile. */
static long beyond_the_window(struct __test_metadata *_metadata)
{
	static uint8_t buf[COLL_WIRE_HDR + FRAME], op[PEER_BYTES];
	struct coll_frame f;
	struct peer_op o;
	long before, after;
	struct two t;
	uint32_t k;
	size_t n;

	ASSERT_EQ(0, two_start(&t));
	ASSERT_EQ(0, two_attach(&t));
	/* Its HELLO is not answered, so its link lingers. */
	ASSERT_TRUE(peer_hear(&t.b, &t.a, 0));
	peer_leave(&t.b);
	/* The other communicator needs the bytes that come behind. */
	ASSERT_TRUE(peer_op_init(&o, &t.a, PEER_ALLREDUCE, 1250, 50 * TWO_SECOND));
	ASSERT_TRUE(peer_op_start(&o, &t.a));
	before = test_free_kib();
	peer_frame(&t.b, &f, COLL_FRAME_DATA, FRAME);
	f.seq = 1;
	f.signature = 5;
	coll_wire_put_header(buf, &f);
	for (k = 0; k < FRAMES; k++)
		ASSERT_TRUE(peer_write(&t.a, 1, buf, sizeof(buf)));
	n = peer_put_op(&t.a, &o.cmd, t.a.seq, 1000, op);
	ASSERT_TRUE(peer_write(&t.a, 1, op, n));
	EXPECT_EQ(0, peer_op_wait(&o));
	after = test_free_kib();
	TH_LOG("%ld KiB less are free", before - after);
	EXPECT_EQ(0, peer_op_wrong(&o));
	EXPECT_EQ(0, peer_op_exit(&o));
	peer_stop(&t.a);
	return before - after;
}

/* Others use the machine's memory, too: one good try of three is enough. */
TEST(more_than_the_window)
{
	long taken = MOST + 1;
	int i;

	for (i = 0; i < 3 && taken > (long)MOST; i++)
		taken = beyond_the_window(_metadata);
	EXPECT_LE(taken, (long)MOST);
}

TEST_HARNESS_MAIN
