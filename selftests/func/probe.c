// SPDX-License-Identifier: GPL-2.0
/* Probes find the message that a receive would get. A matched probe takes it, for one receive. */
#include <errno.h>

#include "harness.h"
#include "probes.h"
#include "shapes.h"
#include "util.h"

static struct talk t;

/* Return: 0 if rank @rank has any message, -ENOMSG if it has none. */
static int any(uint32_t rank, struct coll_message *got)
{
	return probe_now(&t, rank, COLL_PROBE, COLL_RANK_ANY, COLL_TAG_ANY, got);
}

/* The oldest that fits, by source, tag, both or neither; and nothing is taken. */
TEST(order)
{
	int32_t v[4] = { 10, 11, 12, 13 }, o[4] = { };
	struct coll_message got;
	unsigned int s[4], r, i;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		EXPECT_EQ(-ENOMSG, any(last, &got));
		for (i = 0; i < 4; i++) {
			/* one after the other, so that the order is known */
			s[i] = talk_send(&t, 0, last, i, &v[i], i + 1);
			ASSERT_EQ(0, probe_soon(&t, last, COLL_PROBE, 0, i, &got));
			EXPECT_EQ(i + 1, got.bytes);
			EXPECT_EQ(0, got.id);
		}
		ASSERT_EQ(0, any(last, &got));
		EXPECT_TRUE(!got.tag && !got.source && got.bytes == 1 && got.dtype == COLL_BYTE);
		ASSERT_EQ(0, probe_now(&t, last, COLL_PROBE, COLL_RANK_ANY, 2, &got));
		EXPECT_TRUE(got.tag == 2 && !got.source && got.bytes == 3);
		ASSERT_EQ(0, probe_now(&t, last, COLL_PROBE, 0, COLL_TAG_ANY, &got));
		EXPECT_EQ(0, got.tag);
		EXPECT_EQ(-ENOMSG, probe_now(&t, last, COLL_PROBE, 0, 4, &got));
		EXPECT_EQ(-ENOMSG, probe_now(&t, last, COLL_PROBE, last, COLL_TAG_ANY, &got));

		/* taken out of the middle: the others do not see it, and keep their order */
		ASSERT_EQ(0, probe_now(&t, last, COLL_MPROBE, COLL_RANK_ANY, 1, &got));
		EXPECT_TRUE(got.tag == 1 && got.bytes == 2 && got.id);
		EXPECT_EQ(-ENOMSG, probe_now(&t, last, COLL_PROBE, 0, 1, &got));
		for (i = 0; i < 4; i++) {
			if (i == 1)
				continue;
			r = talk_recv(&t, last, COLL_RANK_ANY, COLL_TAG_ANY, &o[i], 4, &got);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(i, got.tag);
			EXPECT_EQ(0, talk_result(&t, 0, s[i]));
		}
		EXPECT_EQ(-ENOMSG, any(last, &got));
		EXPECT_TRUE(talk_pending(&t, 0, s[1]));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* Received by its id, once; a wrong id, one of another rank, and too little room. */
TEST(matched)
{
	int32_t v[2] = { 5, 6 }, o = 0;
	struct coll_message got, took;
	unsigned int s[2];

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s[0] = talk_send(&t, 0, last, 7, &v[0], 4);
		ASSERT_EQ(0, probe_soon(&t, last, COLL_MPROBE, COLL_RANK_ANY, COLL_TAG_ANY, &got));
		s[1] = talk_send(&t, 0, last, 7, &v[1], 4);
		EXPECT_EQ(-ENOENT, probe_receive(&t, last, got.id + 1, &o, 4, NULL));
		EXPECT_EQ(-ENOENT, probe_receive(&t, 0, got.id, &o, 4, NULL));
		EXPECT_EQ(0, probe_receive(&t, last, got.id, &o, 4, &took));
		EXPECT_EQ(5, o);
		EXPECT_TRUE(!took.source && took.tag == 7 && took.bytes == 4 && !took.id);
		EXPECT_EQ(0, talk_result(&t, 0, s[0]));
		EXPECT_EQ(-ENOENT, probe_receive(&t, last, got.id, &o, 4, NULL));

		ASSERT_EQ(0, probe_soon(&t, last, COLL_MPROBE, 0, 7, &got));
		EXPECT_EQ(-EMSGSIZE, probe_receive(&t, last, got.id, &o, 3, &took));
		EXPECT_EQ(4, took.bytes);
		EXPECT_EQ(-EMSGSIZE, talk_result(&t, 0, s[1]));
		EXPECT_EQ(-ENOENT, probe_receive(&t, last, got.id, &o, 4, NULL));
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

/* A rank sends to itself, and probes for that. */
TEST(self)
{
	struct coll_message got;
	int32_t v = 9, o = 0;
	unsigned int s;

	FOR_FEW_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s = talk_send(&t, last, last, 1, &v, 4);
		ASSERT_EQ(0, probe_now(&t, last, COLL_PROBE, COLL_RANK_ANY, 1, &got));
		EXPECT_EQ(last, got.source);
		ASSERT_EQ(0, probe_now(&t, last, COLL_MPROBE, last, COLL_TAG_ANY, &got));
		EXPECT_EQ(0, probe_receive(&t, last, got.id, &o, 4, NULL));
		EXPECT_EQ(0, talk_result(&t, last, s));
		EXPECT_EQ(9, o);
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
