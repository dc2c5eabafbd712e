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
	/* The rank that has posted the group again waits for this one. */
	memset(w->out, 0xee, sizeof(w->out));
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

/*
 * Rank 0 posts a group again that waits for rank 1: with and without another mistake. Nothing
 * happens to the first post.
 */
TEST(posted_twice)
{
	uint32_t nodes, r, bad, posted;
	struct world *w;
	uint64_t cmd;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		ASSERT_EQ(0, raw_post(w->c.fd[0], w->t[0], MEMBERS, NULL));
		EXPECT_EQ(-EEXIST, raw_post(w->c.fd[0], w->t[0], MEMBERS, &posted));
		EXPECT_EQ(0, posted);
		/* The members that are pending are behind the one that cannot be posted. */
		for (bad = 0; bad < 2; bad++) {
			cmd = w->t[0][bad].cmd;
			w->t[0][bad].cmd = 0;
			EXPECT_GT(0, raw_post(w->c.fd[0], w->t[0], MEMBERS, &posted));
			EXPECT_EQ(0, posted);
			w->t[0][bad].cmd = cmd;
		}
		ASSERT_EQ(0, raw_post(w->c.fd[1], w->t[1], MEMBERS, NULL));
		for (r = 0; r < 2; r++)
			EXPECT_EQ(0x1fU, results(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
		again(_metadata, w, 3, 0, false);
		EXPECT_TRUE(not_failed(w));
		raw_stop(&w->c);
	}
}

#define LARGE	(2U << 20)	/* elements */

/*
 * On a node one op runs at a time. While an op of the group runs, another member waits for its turn
 * and is pending. A rank that has the result of the first member posts the group again, which is
 * too early. This must not count for some of the members only: the next post of all ranks has to
 * succeed.
 */
TEST(posted_too_early)
{
	static int32_t in[2][LARGE], out[2][LARGE];
	uint32_t i, r, posted, early = 0;
	struct world *w;
	int ret;

	w = start(2, 1);
	ASSERT_NE(NULL, w);
	for (r = 0; r < 2; r++)
		for (i = 1; i < MEMBERS; i++)
			raw_allreduce(&w->cmd[r][i], in[r], out[r], i == 1 ? LARGE : LARGE / 8,
				      COLL_I32, COLL_OP_SUM);
	for (i = 0; i < 20 && !early; i++) {
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
		ASSERT_LE(1, raw_collect(w->c.fd[0], w->res, 1, 1, 20 * SECOND));
		EXPECT_EQ(0, w->res[0].result);
		ret = raw_post(w->c.fd[0], w->t[0], MEMBERS, &posted);
		if (!ret) {
			ASSERT_EQ(0, raw_post(w->c.fd[1], w->t[1], MEMBERS, NULL));
		} else {
			ASSERT_EQ(-EEXIST, ret);
		}
		early += ret != 0;
		EXPECT_EQ(ret ? 0 : MEMBERS, posted);
		results(_metadata, w, 0, (ret ? 1 : 2) * MEMBERS - 1, 0, COLL_BAD_NONE);
		results(_metadata, w, 1, (ret ? 1 : 2) * MEMBERS, 0, COLL_BAD_NONE);
	}
	TH_LOG("posted too early: %u of %u times", early, i);
	for (i = 0; i < 2; i++) {
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
		for (r = 0; r < 2; r++)
			EXPECT_EQ(0x1fU, results(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
	}
	EXPECT_TRUE(not_failed(w));
	raw_stop(&w->c);
}

/* A call ends at a tensor of no group. The group of which it has posted a member ends. */
TEST(broken_off)
{
	struct coll_tensor t[3];
	uint32_t nodes, posted, r;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		for (r = 0; r < 2; r++)
			w->t[r][0].members = w->t[r][1].members = 2;
		t[0] = w->t[0][0];
		t[1] = w->t[0][2];
		t[1].group = t[1].members = 0;
		t[1].cmd = 0;
		t[2] = w->t[0][1];
		ASSERT_EQ(0, raw_post(w->c.fd[1], w->t[1], 2, NULL));
		EXPECT_EQ(-EFAULT, raw_post(w->c.fd[0], t, 3, &posted));
		EXPECT_EQ(1, posted);
		EXPECT_EQ(1U, results(_metadata, w, 0, 1, ECANCELED, COLL_BAD_GROUP));
		EXPECT_EQ(3U, results(_metadata, w, 1, 2, ECANCELED, COLL_BAD_GROUP));
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], 2, NULL));
		for (r = 0; r < 2; r++)
			EXPECT_EQ(3U, results(_metadata, w, r, 2, 0, COLL_BAD_NONE));
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
