// SPDX-License-Identifier: GPL-2.0
/* Which message a receive gets, by source and tag, and what becomes of one that does not fit. */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

static struct talk t;

/* Sends first: receives pick by tag, and the earliest one that fits. */
TEST(receives_pick_messages)
{
	int32_t v[6] = { 0, 1, 2, 3, 4, 5 }, o[6];
	static const uint32_t tags[6] = { 7, 8, 7, 9, COLL_TAG_MAX, 0 };
	static const struct { uint32_t tag; int32_t want; } picks[6] = {
		{ 9, 3 }, { 7, 0 }, { COLL_TAG_ANY, 1 }, { COLL_TAG_MAX, 4 },
		{ COLL_TAG_ANY, 2 }, { 0, 5 },
	};
	struct coll_message got;
	unsigned int s[6], i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 6; i++)
			s[i] = talk_send(&t, 0, last, tags[i], &v[i], 4);
		EXPECT_TRUE(talk_pending(&t, 0, s[0]));
		for (i = 0; i < 6; i++) {
			unsigned int r;

			o[i] = -1;
			r = talk_recv(&t, last, i & 1 ? 0 : COLL_RANK_ANY,
				      picks[i].tag, &o[i], 4, &got);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(picks[i].want, o[i]) TH_LOG("pick %u", i);
			EXPECT_EQ(tags[picks[i].want], got.tag);
			EXPECT_EQ(0, got.source);
			EXPECT_EQ(0, talk_result(&t, 0, s[picks[i].want]));
		}
		talk_stop(&t);
	}
}

/* Receives first: a message goes to the earliest one that it fits. */
TEST(messages_pick_receives)
{
	static const uint32_t tags[5] = { 3, COLL_TAG_ANY, 3, 4, COLL_TAG_ANY };
	static const struct { uint32_t tag; unsigned int recv; } sends[5] = {
		{ 4, 1 }, { 3, 0 }, { 3, 2 }, { 3, 4 }, { 4, 3 },
	};
	struct coll_message got[5];
	int32_t o[5], v;
	unsigned int r[5], i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		memset(o, 0, sizeof(o));
		memset(got, 0, sizeof(got));
		for (i = 0; i < 5; i++)
			r[i] = talk_recv(&t, last, i & 1 ? 0 : COLL_RANK_ANY, tags[i],
					 &o[i], 4, &got[i]);
		for (i = 0; i < 5; i++) {
			unsigned int s;

			v = 100 + i;
			s = talk_send(&t, 0, last, sends[i].tag, &v, 4);
			EXPECT_EQ(0, talk_result(&t, 0, s));
			EXPECT_EQ(0, talk_result(&t, last, r[sends[i].recv]));
			EXPECT_EQ(100 + i, o[sends[i].recv]);
			EXPECT_EQ(sends[i].tag, got[sends[i].recv].tag);
		}
		talk_stop(&t);
	}
}

TEST(source_is_minded)
{
	int32_t v[2] = { 10, 11 }, o[2] = { };
	struct coll_message got;
	unsigned int s[2], r;

	FOR_SHAPES(last) {
		uint32_t other = last > 1 ? 1 : last;	/* or to itself */

		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		s[0] = talk_send(&t, other, last, 1, &v[1], 4);
		s[1] = talk_send(&t, 0, last, 1, &v[0], 4);
		r = talk_recv(&t, last, 0, COLL_TAG_ANY, &o[0], 4, &got);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(10, o[0]);
		EXPECT_EQ(0, got.source);
		r = talk_recv(&t, last, COLL_RANK_ANY, COLL_TAG_ANY, &o[1], 4, &got);
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(11, o[1]);
		EXPECT_EQ(other, got.source);
		EXPECT_EQ(0, talk_result(&t, 0, s[1]));
		EXPECT_EQ(0, talk_result(&t, other, s[0]));
		talk_stop(&t);
	}
}

/* Too long or of another type: that message alone fails, on both sides. */
TEST(what_does_not_fit)
{
	int32_t v[4] = { 1, 2, 3, 4 }, o[4];
	struct coll_message got;
	struct coll_cmd cmd;
	unsigned int i, s, r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++) {
			memset(o, 0, sizeof(o));
			if (i & 1)
				s = talk_send(&t, 0, last, 1, v, 16);
			r = talk_recv(&t, last, 0, 1, o, 15, &got);
			if (!(i & 1))
				s = talk_send(&t, 0, last, 1, v, 16);
			EXPECT_EQ(-EMSGSIZE, talk_result(&t, last, r));
			EXPECT_EQ(-EMSGSIZE, talk_result(&t, 0, s));
			EXPECT_EQ(16, got.bytes);
			EXPECT_EQ(0, o[0] | o[1] | o[2] | o[3]);

			raw_send(&cmd, v, 4, COLL_F32, last, 1);
			s = talk_post(&t, 0, &cmd);
			raw_recv(&cmd, o, 4, COLL_I32, 0, 1, &got);
			r = talk_post(&t, last, &cmd);
			EXPECT_EQ(-EBADE, talk_result(&t, last, r));
			EXPECT_EQ(-EBADE, talk_result(&t, 0, s));
			EXPECT_EQ(COLL_F32, got.dtype);
			EXPECT_EQ(0, o[0] | o[1] | o[2] | o[3]);

			raw_send(&cmd, v, 4, i & 1 ? COLL_F32 : COLL_BYTE, last, 1);
			s = talk_post(&t, 0, &cmd);
			raw_recv(&cmd, o, i & 1 ? 16 : 4, i & 1 ? COLL_BYTE : COLL_I32,
				 0, 1, &got);
			r = talk_post(&t, last, &cmd);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(0, talk_result(&t, 0, s));
			EXPECT_EQ(i & 1 ? 16 : 4, got.bytes);
		}
		EXPECT_EQ(0, test_good(&t.c));
		talk_stop(&t);
	}
}

TEST_HARNESS_MAIN
