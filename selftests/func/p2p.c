// SPDX-License-Identifier: GPL-2.0
/* Messages arrive whole: of any size, at any address, whichever rank comes first. */
#include <stdlib.h>

#include "harness.h"
#include "pattern.h"
#include "shapes.h"
#include "talk.h"
#include "util.h"

static struct talk t;

TEST(sizes_whoever_comes_first)
{
	static const uint64_t sizes[] = {
		0, 1, 7, 4096, 65536, 65537, 300000, (4 << 20) + 3,
	};
	uint8_t *in = malloc(5 << 20), *out = malloc(5 << 20);
	struct coll_message got;
	unsigned int i, first, s, r;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			for (first = 0; first < 2; first++) {
				pattern_fill(in, sizes[i], i);
				memset(out, 0x11, sizes[i] + 1);
				memset(&got, 0xff, sizeof(got));
				if (first)
					s = talk_send(&t, 0, last, 5, in, sizes[i]);
				r = talk_recv(&t, last, 0, 5, out, sizes[i], &got);
				if (!first)
					s = talk_send(&t, 0, last, 5, in, sizes[i]);
				EXPECT_EQ(0, talk_result(&t, last, r));
				EXPECT_EQ(0, talk_result(&t, 0, s));
				EXPECT_EQ(0, pattern_wrong(out, sizes[i], i));
				EXPECT_EQ(0x11, out[sizes[i]]);
				EXPECT_EQ(sizes[i], got.bytes);
				EXPECT_EQ(0, got.source);
				EXPECT_EQ(5, got.tag);
				EXPECT_EQ(COLL_BYTE, got.dtype);
				EXPECT_EQ(0, got.reserved | got.id);
			}
		}
		talk_stop(&t);
	}
	free(in);
	free(out);
}

TEST(unaligned_and_guarded)
{
	struct test_guarded a, b;
	unsigned int i, s, r;
	size_t bytes = 150001;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		for (i = 0; i < 4; i++) {
			ASSERT_TRUE(test_guard(&a, bytes, i & 1));
			ASSERT_TRUE(test_guard(&b, bytes, i & 2));
			pattern_fill(a.mem, bytes, i);
			r = talk_recv(&t, last, 0, 1, b.mem, bytes, NULL);
			s = talk_send(&t, 0, last, 1, a.mem, bytes);
			EXPECT_EQ(0, talk_result(&t, last, r));
			EXPECT_EQ(0, talk_result(&t, 0, s));
			EXPECT_EQ(0, pattern_wrong(b.mem, bytes, i));
			EXPECT_EQ(0, test_guard_hurt(&a) + test_guard_hurt(&b));
			test_unguard(&a);
			test_unguard(&b);
		}
		talk_stop(&t);
	}
}

/* A longer receive leaves the rest of its buffer alone. */
TEST(shorter_than_expected)
{
	uint8_t in[1000], *out = malloc(1 << 20);
	struct coll_message got;
	unsigned int s, r, i;

	FOR_SHAPES(last) {
		ASSERT_EQ(0, talk_start(&t, shapes[sh].size, shapes[sh].nodes));
		pattern_fill(in, sizeof(in), 1);
		memset(out, 0x77, 1 << 20);
		r = talk_recv(&t, last, 0, 1, out, 1 << 20, &got);
		s = talk_send(&t, 0, last, 1, in, sizeof(in));
		EXPECT_EQ(0, talk_result(&t, last, r));
		EXPECT_EQ(0, talk_result(&t, 0, s));
		EXPECT_EQ(sizeof(in), got.bytes);
		EXPECT_EQ(0, pattern_wrong(out, sizeof(in), 1));
		for (i = sizeof(in); i < 1 << 20 && out[i] == 0x77; i++)
			;
		EXPECT_EQ(1 << 20, i);
		talk_stop(&t);
	}
	free(out);
}

TEST_HARNESS_MAIN
