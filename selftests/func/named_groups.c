// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of named collectives: all members or none, in any order of each rank.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "util.h"

#define SECOND	1000000000ULL
#define MS	1000000ULL
#define RANKS	4
#define MEMBERS	5
#define GROUPS	3
#define NAMES	(MEMBERS * GROUPS)
#define COUNT	50
#define DIGEST	0x1234567800000001ULL

struct world {
	struct raw_comm c;
	uint64_t lots;
	char names[NAMES][16];
	struct coll_cmd cmd[RANKS][NAMES];
	struct coll_tensor t[RANKS][NAMES];
	struct coll_tensor_result res[NAMES];
	int32_t in[RANKS][NAMES][COUNT], out[RANKS][NAMES][COUNT];
};

static struct world world;

static struct world *start(uint32_t size, uint32_t nodes)
{
	struct world *w = &world;
	uint32_t r, k;

	memset(w, 0, sizeof(*w));
	w->lots = test_seed() | 1;
	if (raw_start_named(&w->c, size, nodes))
		return NULL;
	for (k = 0; k < NAMES; k++)
		snprintf(w->names[k], sizeof(w->names[k]), "g%u.%u", k / MEMBERS, k % MEMBERS);
	for (r = 0; r < size; r++) {
		for (k = 0; k < NAMES; k++) {
			w->in[r][k][COUNT - 1] = r + k;
			raw_allreduce(&w->cmd[r][k], w->in[r][k], w->out[r][k], COUNT, COLL_I32,
				      COLL_OP_SUM);
			raw_tensor(&w->t[r][k], w->names[k], &w->cmd[r][k], k);
			w->t[r][k].group = DIGEST + k / MEMBERS;
			w->t[r][k].members = MEMBERS;
		}
	}
	return w;
}

/* Each rank posts them in an order of its own. */
static void shuffle(struct world *w, uint32_t r)
{
	struct coll_tensor t;
	uint32_t k, o;

	for (k = NAMES; k > 1; k--) {
		o = test_below(&w->lots, k);
		t = w->t[r][k - 1];
		w->t[r][k - 1] = w->t[r][o];
		w->t[r][o] = t;
	}
}

/* @n results: each @error and @cause. Bit k of the return: that of tag k was among them. */
static uint32_t hears(struct __test_metadata *_metadata, struct world *w, uint32_t r, uint32_t n,
		      int error, uint32_t cause)
{
	uint32_t k, tags = 0;
	int got;

	got = raw_collect(w->c.fd[r], w->res, n, n, 20 * SECOND);
	EXPECT_EQ((int)n, got) {
		TH_LOG("seed %llu, rank %u", (unsigned long long)test_seed(), r);
	}
	for (k = 0; (int)k < got; k++) {
		EXPECT_EQ(error, -w->res[k].result);
		EXPECT_EQ(cause, w->res[k].cause);
		tags |= 1U << w->res[k].tag;
	}
	return tags;
}

static bool goes_on(struct world *w)
{
	struct coll_status s;

	return !raw_status(w->c.fd[0], &s) && s.state != COLL_STATE_FAILED;
}

TEST(any_order)
{
	uint32_t nodes, round, r, k;
	struct world *w;

	EXPECT_TRUE(raw_features() & COLL_FEAT_TENSOR_GROUPS);
	for (nodes = 1; nodes <= 3; nodes++) {
		w = start(RANKS, nodes);
		ASSERT_NE(NULL, w);
		for (round = 0; round < 6; round++) {
			for (r = 0; r < RANKS; r++) {
				shuffle(w, r);
				ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], NAMES, NULL));
			}
			for (r = 0; r < RANKS; r++) {
				EXPECT_EQ((1U << NAMES) - 1,
					  hears(_metadata, w, r, NAMES, 0, COLL_BAD_NONE));
				for (k = 0; k < NAMES; k++)
					EXPECT_EQ(RANKS * (RANKS - 1) / 2 + RANKS * k,
						  w->out[r][k][COUNT - 1]);
			}
		}
		raw_stop(&w->c);
	}
}

/* Without its last member a group does not start; others do. */
TEST(none_before_all)
{
	uint32_t nodes, r;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS - 1, NULL));
		ASSERT_EQ(0, raw_post(w->c.fd[0], &w->t[0][MEMBERS - 1], 1, NULL));
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][MEMBERS], MEMBERS, NULL));
		for (r = 0; r < 2; r++) {
			EXPECT_EQ(0x1fU << MEMBERS,
				  hears(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
			EXPECT_EQ(-ETIMEDOUT, raw_collect(w->c.fd[r], w->res, 1, 1, 30 * MS));
		}
		ASSERT_EQ(0, raw_post(w->c.fd[1], &w->t[1][MEMBERS - 1], 1, NULL));
		for (r = 0; r < 2; r++)
			EXPECT_EQ(0x1fU, hears(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
		raw_stop(&w->c);
	}
}

/* One member disagrees, or its deadline passes: all of the group end, and nothing else. */
TEST(ends_as_a_whole)
{
	uint32_t nodes, late, r;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		for (late = 0; late < 2; late++) {
			w = start(2, nodes);
			ASSERT_NE(NULL, w);
			w->cmd[0][2].timeout_ns = late ? 30 * MS : 0;
			if (!late)
				w->cmd[1][2].op = COLL_OP_MAX;
			for (r = 0; r < 2; r++)
				ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r],
						      MEMBERS - (late && r), NULL));
			EXPECT_EQ(0x1fU, hears(_metadata, w, 0, MEMBERS, late ? ETIMEDOUT : EBADE,
					       late ? COLL_BAD_TIMEOUT : COLL_BAD_MISMATCH));
			hears(_metadata, w, 1, MEMBERS - late, late ? ETIMEDOUT : EBADE,
			      late ? COLL_BAD_TIMEOUT : COLL_BAD_MISMATCH);
			EXPECT_TRUE(goes_on(w));
			for (r = 0; r < 2; r++)
				ASSERT_EQ(0, raw_post(w->c.fd[r], &w->t[r][MEMBERS], MEMBERS,
						      NULL));
			for (r = 0; r < 2; r++)
				hears(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE);
			raw_stop(&w->c);
		}
	}
}

/* Rank 0 cannot post the fourth member: all ranks hear of it, whichever comes first. */
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
					EXPECT_EQ(7U, hears(_metadata, w, 0, 3, ECANCELED,
							    COLL_BAD_GROUP));
				} else {
					ASSERT_EQ(0, raw_post(w->c.fd[1], w->t[1], MEMBERS,
							      NULL));
				}
			}
			EXPECT_EQ(0x1fU, hears(_metadata, w, 1, MEMBERS, ECANCELED,
					       COLL_BAD_GROUP));
			EXPECT_EQ(0, raw_collect(w->c.fd[0], w->res, 1, 0, 0));
			EXPECT_TRUE(goes_on(w));
			for (n = 0; n < 2; n++)
				ASSERT_EQ(0, raw_post(w->c.fd[n], &w->t[n][MEMBERS], MEMBERS,
						      NULL));
			for (n = 0; n < 2; n++)
				hears(_metadata, w, n, MEMBERS, 0, COLL_BAD_NONE);
			raw_stop(&w->c);
		}
	}
}

/*
 * A rank cannot post the member @bad, then it can. Both ranks post the group again, at once or
 * when they have heard: each time it meets the same one of the other.
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
				  hears(_metadata, w, r, bad, ECANCELED, COLL_BAD_GROUP));
		/* It may post all of it at once: nothing of the first time is pending. */
		ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
	}
	r = 1 - who;
	EXPECT_EQ(0x1fU, hears(_metadata, w, r, MEMBERS, ECANCELED, COLL_BAD_GROUP));
	ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
	for (r = 0; r < 2; r++) {
		EXPECT_EQ(0x1fU, hears(_metadata, w, r, MEMBERS, 0, COLL_BAD_NONE));
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
		EXPECT_TRUE(goes_on(w));
		raw_stop(&w->c);
	}
}

#define BIG	200	/* members */

/* Two groups of BIG members, and nothing to do. */
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

static void hears_big(struct __test_metadata *_metadata, struct world *w, uint32_t r, uint32_t n,
		      int error)
{
	static struct coll_tensor_result res[BIG];
	uint32_t k;

	ASSERT_EQ((int)n, raw_collect(w->c.fd[r], res, n, n, 20 * SECOND));
	for (k = 0; k < n; k++)
		ASSERT_EQ(error, -res[k].result);
}

/* All of a large group are withdrawn, and none of another one that waits. */
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
		hears_big(_metadata, w, 0, bad, ECANCELED);
		hears_big(_metadata, w, 1, BIG, ECANCELED);
		EXPECT_EQ(0, raw_collect(w->c.fd[0], w->res, 1, 0, 0));
		ASSERT_EQ(0, raw_post(w->c.fd[1], &big[1][BIG], BIG, NULL));
		hears_big(_metadata, w, 0, BIG, 0);
		hears_big(_metadata, w, 1, BIG, 0);
		raw_stop(&w->c);
	}
}

/* The two ranks have different groups. */
TEST(digests_differ)
{
	uint32_t nodes, r, k;
	struct world *w;

	for (nodes = 1; nodes <= 2; nodes++) {
		w = start(2, nodes);
		ASSERT_NE(NULL, w);
		for (k = 0; k < MEMBERS; k++)
			w->t[1][k].group = DIGEST + 9;
		for (r = 0; r < 2; r++)
			ASSERT_EQ(0, raw_post(w->c.fd[r], w->t[r], MEMBERS, NULL));
		for (r = 0; r < 2; r++) {
			hears(_metadata, w, r, MEMBERS, EBADE, COLL_BAD_MISMATCH);
			EXPECT_EQ(COLL_FIELD_GROUP, w->res[0].field);
		}
		EXPECT_TRUE(goes_on(w));
		raw_stop(&w->c);
	}
}

TEST_HARNESS_MAIN
