// SPDX-License-Identifier: GPL-2.0
/*
 * A small tensor of a fusion between two nodes ends before the large one, and its memory is its
 * rank's again. The large one ends later, with right results, and leaves that memory alone.
 */
#include <linux/coll_nl.h>

#include "named_early_pair.h"

static bool put_rest(struct pair *j)
{
	return put(j, 1, 0, j->small_part[0], chunk(j, 0), true);
}

/*
 * The other node must get the inputs of chunk 0 and the sums of chunk 1.
 * Return: how many elements are wrong or missing.
 */
static unsigned long wrong_sent(struct pair *j)
{
	size_t at = 0, end = __atomic_load_n(&j->nr_got, __ATOMIC_ACQUIRE);
	unsigned long bad = 0, seen = 0;
	struct coll_frame f;
	uint32_t i, k, pos;
	int32_t v;

	while (at + COLL_WIRE_HDR <= end) {
		if (coll_wire_get_header(j->got + at, &f) || at + COLL_WIRE_HDR + f.length > end)
			break;
		at += COLL_WIRE_HDR;
		for (i = 0; f.type == COLL_FRAME_DATA && i < f.length / 4; i++, seen++) {
			memcpy(&v, j->got + at + 4 * i, 4);
			k = tensor_of(j, f.transfer, f.offset / 4 + i, &pos);
			bad += v != (f.transfer ? sum(k, pos) : value(0, k, pos));
		}
		at += f.length;
	}
	return bad + (seen != j->part[2]);
}

static void large_follows(struct __test_metadata *_metadata, uint32_t small)
{
	struct pair *j = pair_start(_metadata, small);
	struct coll_tensor_result res;
	unsigned int n;

	small_ends(_metadata, j);
	spoil(j);
	ASSERT_TRUE(put_rest(j));
	ASSERT_EQ(1, collect(j, &res, 20 * SECOND));
	EXPECT_EQ(LARGE_TAG, res.tag);
	EXPECT_EQ(0, res.result);
	EXPECT_EQ(0, wrong(j, 1));
	EXPECT_EQ(0, touched(j));
	EXPECT_EQ(1, stalls_count(COLL_NL_GROUP_EARLY));
	/* There are no more results. */
	EXPECT_EQ(0, collect(j, &res, SECOND));
	for (n = 0; n < 1000 && wrong_sent(j); n++)
		test_sleep_us(10000);
	EXPECT_EQ(0, wrong_sent(j));
	pair_stop(j);
}

/*
 * A tensor of SLOT elements is copied; one of PAGES elements has its pages pinned. With ubuf, TCP
 * sends from these pages.
 */
TEST(the_large_one_follows)
{
	ASSERT_LE(0, stalls_open());
	ASSERT_TRUE(test_put(MODE, "copy"));
	large_follows(_metadata, SLOT);
	large_follows(_metadata, PAGES);
	ASSERT_TRUE(test_put(MODE, "ubuf"));
	large_follows(_metadata, SLOT);
	large_follows(_metadata, PAGES);
	ASSERT_TRUE(test_put(MODE, "auto"));
}

TEST_HARNESS_MAIN
