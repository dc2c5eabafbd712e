// SPDX-License-Identifier: GPL-2.0
/*
 * A rank cannot post a member of a group. All members that ranks have posted end with -ECANCELED,
 * and the group can be posted again.
 */
#include <errno.h>
#include <stdio.h>

#include "named_groups.h"

/* Rank 0 cannot post the fourth member, before or after rank 1 has posted. Both get an error. */
TEST(refused_in_the_middle)
{
	uint32_t nodes, first, n, posted;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (first = 0; first < 2; first++) {
			w = start(2, nodes);
			ASSERT_NE(NULL, w);
			w->t[0][3].cmd = 0;
			for (n = 0; n < 2; n++) {
				if (n == first) {
					EXPECT_EQ(-EFAULT, raw_post(w->c.fd[0], w->t[0], MEMBERS,
								    &posted));
					EXPECT_EQ(3, posted);
					EXPECT_EQ(7U, results(_metadata, w, 0, 3, ECANCELED,
							      COLL_BAD_GROUP));
				} else {
					ASSERT_EQ(0, raw_post(w->c.fd[1], w->t[1], MEMBERS,
							      NULL));
				}
			}
			EXPECT_EQ(0x1fU, results(_metadata, w, 1, MEMBERS, ECANCELED,
						 COLL_BAD_GROUP));
			EXPECT_EQ(0, raw_collect(w->c.fd[0], w->res, 1, 0, 0));
			EXPECT_TRUE(not_failed(w));
			for (n = 0; n < 2; n++)
				ASSERT_EQ(0, raw_post(w->c.fd[n], &w->t[n][MEMBERS], MEMBERS,
						      NULL));
			for (n = 0; n < 2; n++)
				results(_metadata, w, n, MEMBERS, 0, COLL_BAD_NONE);
			raw_stop(&w->c);
		}
	}
}

/*
 * Rank @who cannot post the member @bad. Both ranks post the group again: this rank at once, the
 * other one after its error. The new posts must meet each other. With @late, rank 1 posts first.
 */
static void again(struct __test_metadata *_metadata, struct world *w, uint32_t bad, uint32_t who,
		  bool late)
{
	uint64_t cmd = w->t[who][bad].cmd;
	uint32_t posted, r, n, k;

	for (n = 0; n < 2; n++) {
		r = late ? 1 - n : n;
		if (r != who) {
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
			continue;
		}
		w->t[r][bad].cmd = 0;
		ASSERT_EQ(-EFAULT, raw_post(w->c.fd[r], w->t[r], MEMBERS, &posted));
		ASSERT_EQ(bad, posted);
		w->t[r][bad].cmd = cmd;
		if (bad)
			EXPECT_EQ((1U << bad) - 1,
				  results(_metadata, w, r, bad, ECANCELED, COLL_BAD_GROUP));
		/* The rank may post the group again at once: nothing is pending. */
		ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
	}
	r = 1 - who;
	EXPECT_EQ(0x1fU, results(_metadata, w, r, MEMBERS, ECANCELED, COLL_BAD_GROUP));
	ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0x1fU, results(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
		for (k = 0; k < MEMBERS; k++)
			EXPECT_EQ(1 + 2 * k, w->out[r][k][COUNT - 1]);
	}
}

TEST(refused_and_posted_again)
{
	uint32_t nodes, bad, who, late;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		for (bad = 0; bad < MEMBERS; bad++)
			for (who = 0; who < 2; who++)
				for (late = 0; late < 2; late++)
					again(_metadata, w, bad, who, late);
		EXPECT_TRUE(not_failed(w));
		raw_stop(&w->c);
	}
}

#define BIG	200	/* members */

/* Two groups of BIG members, which are barriers */
static struct coll_tensor big[2][2 * BIG];

static void make_big(void)
{
	static const struct coll_cmd barrier = { .collective = COLL_BARRIER };
	static char names[2 * BIG][16];
	uint32_t r, k;

	for (k = 0; k < 2 * BIG; k++)
		snprintf(names[k], sizeof(names[k]), "big%u.%u", k / BIG, k % BIG);
	for (r = 0; r < 2; r++) {
		for (k = 0; k < 2 * BIG; k++) {
			raw_tensor(&big[r][k], names[k], &barrier, k);
			big[r][k].group = DIGEST + k / BIG;
			big[r][k].members = BIG;
		}
	}
}

static void expect_big(struct __test_metadata *_metadata, struct world *w, uint32_t r, uint32_t n,
		       int error)
{
	static struct coll_tensor_result res[BIG];
	uint32_t k;

	ASSERT_EQ((int)n, raw_collect(w->c.fd[r], res, n, n, 20 * SECOND));
	for (k = 0; k < n; k++)
		ASSERT_EQ(error, -res[k].result);
}

/* All members of a large group end with an error. Another group that waits is not changed. */
TEST(many_are_withdrawn)
{
	uint32_t nodes, posted, bad = BIG - 7;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		make_big();
		ASSERT_EQ(0, raw_post(w->c.fd[0], &big[0][BIG], BIG, NULL));
		ASSERT_EQ(0, raw_post(w->c.fd[1], big[1], BIG, NULL));
		big[0][bad].cmd = 0;
		EXPECT_EQ(-EFAULT, raw_post(w->c.fd[0], big[0], BIG, &posted));
		EXPECT_EQ(bad, posted);
		expect_big(_metadata, w, 0, bad, ECANCELED);
		expect_big(_metadata, w, 1, BIG, ECANCELED);
		EXPECT_EQ(0, raw_collect(w->c.fd[0], w->res, 1, 0, 0));
		ASSERT_EQ(0, raw_post(w->c.fd[1], &big[1][BIG], BIG, NULL));
		expect_big(_metadata, w, 0, BIG, 0);
		expect_big(_metadata, w, 1, BIG, 0);
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
