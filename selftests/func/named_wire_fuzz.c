// SPDX-License-Identifier: GPL-2.0
/*
 * The test plays a child or a parent node whose records are changed at random. The named collective
 * that is pending ends with an error in time.
 */
#include <errno.h>

#include "named_wire.h"

static void fuzz_once(struct __test_metadata *_metadata, uint64_t seed)
{
	uint32_t rank, i, n, at;
	struct coll_tensor_result res;
	struct coll_coord_rec r;
	uint64_t lots = seed, when;
	struct say t;
	struct peer p;
	int ret;

	rank = test_below(&lots, 2);
	ASSERT_EQ(0, peer_start_named(&p, rank));
	ASSERT_EQ(0, say_post(&p, SAY_NAME, 100 * MS));
	say_begin(&t);
	n = 1 + test_below(&lots, 2);
	for (i = 0; i < n; i++) {
		r = say_record(1 + test_below(&lots, 6), test_below(&lots, 3),
			       test_below(&lots, 2));
		r.has_params = test_below(&lots, 4);
		if (!test_below(&lots, 3))
			r.name_len = 0;
		if (!test_below(&lots, 3))
			r.bad.cause = test_below(&lots, COLL_NR_BAD);
		say_add(&t, &r);
	}
	n = test_below(&lots, 4);
	for (i = 0; i < n; i++) {
		at = COLL_WIRE_HDR + test_below(&lots, t.len - COLL_WIRE_HDR);
		t.buf[at] = test_below(&lots, 2) ? test_rand(&lots) : test_below(&lots, 4);
	}
	if (t.len > COLL_WIRE_HDR + COLL_WIRE_TENSOR_MAX)
		t.len = COLL_WIRE_HDR + COLL_WIRE_TENSOR_MAX;
	when = test_now_ns();
	say_send(&t, &p, 0);
	/* If the peer is the parent, only the peer can end the tensor. It closes its streams. */
	test_sleep_us(1000);
	peer_close(&p, 0, false);
	peer_close(&p, 1, false);
	ret = say_result(&p, &res);
	EXPECT_TRUE(ret && ret != -ENODATA) {
		TH_LOG("seed %llu: %d", (unsigned long long)seed, ret);
	}
	EXPECT_FALSE(test_late(when + 100 * MS, test_now_ns())) {
		TH_LOG("seed %llu: %d", (unsigned long long)seed, ret);
	}
	peer_stop(&p);
}

TEST(changed_at_random)
{
	unsigned int i, n = test_scale(300);
	uint64_t lots = test_seed();

	for (i = 0; i < n; i++)
		fuzz_once(_metadata, test_rand(&lots) | 1);
}

TEST_HARNESS_MAIN
